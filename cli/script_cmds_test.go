package cli

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"msgbench/bench/areg/aregtest"
)

// cmdCode is `code N msgbench args…`: like exec, but the exit code must be N, or one of N,M. Its output is in stdout.txt
// and stderr.txt.
func cmdCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N program [args...]")
	}
	path := filepath.SplitList(ts.Getenv("PATH"))[0]
	cmd := exec.Command(filepath.Join(path, args[1]), args[2:]...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = []string{"TMPDIR=" + ts.Getenv("TMPDIR"), "PATH=" + ts.Getenv("PATH"), "HOME=" + ts.Getenv("HOME"), "GORACE=" + raceEnv,
		aregEnv + "=" + ts.Getenv(aregEnv), aregtest.FaultVar + "=" + ts.Getenv(aregtest.FaultVar)}
	var out, errOut strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	got := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	ts.Check(os.WriteFile(ts.MkAbs("stdout.txt"), []byte(out.String()), 0o644))
	ts.Check(os.WriteFile(ts.MkAbs("stderr.txt"), []byte(errOut.String()), 0o644))
	ts.Logf("[stdout]\n%s[stderr]\n%s", out.String(), errOut.String())
	if !slices.Contains(strings.Split(args[0], ","), strconv.Itoa(got)) {
		ts.Fatalf("exit code %d, want %s", got, args[0])
	}
}

// cmdProgram is `program PATH`: msgbench itself, as a file of its own.
func cmdProgram(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: program path")
	}
	data, err := os.ReadFile(filepath.Join(filepath.SplitList(ts.Getenv("PATH"))[0], "msgbench"))
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), data, 0o755))
}

// cmdAreg is `areg DIR`: makes a stand-in for a built areg-sdk there.
func cmdAreg(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: areg dir")
	}
	exe, err := os.Executable()
	ts.Check(err)
	ts.Check(aregtest.Install(ts.MkAbs(args[0]), exe))
}

// cmdLines is `lines FILE N`: the file has N lines.
func cmdLines(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: lines file N")
	}
	got := strings.Count(ts.ReadFile(args[0]), "\n")
	if (strconv.Itoa(got) == args[1]) == neg {
		ts.Fatalf("%s has %d lines, want %s", args[0], got, args[1])
	}
}

// cmdNothing is `nothing DIR`: the directory is empty, at once or within ten seconds: others may have the CPUs.
func cmdNothing(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: nothing dir")
	}
	eventually(ts, 10*time.Second, func() string {
		entries, err := os.ReadDir(ts.MkAbs(args[0]))
		ts.Check(err)
		if len(entries) > 0 {
			return args[0] + " still holds " + entries[0].Name()
		}
		return ""
	})
}

// cmdPrefix is `prefix FILE START`: FILE begins with all of START.
func cmdPrefix(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: prefix file start")
	}
	if strings.HasPrefix(ts.ReadFile(args[0]), ts.ReadFile(args[1])) == neg {
		ts.Fatalf("%s does not begin with all of %s", args[0], args[1])
	}
}

// cmdTruncate is `truncate FROM N TO`: writes FROM without its last N bytes.
func cmdTruncate(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: truncate from n to")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	data := ts.ReadFile(args[0])
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), []byte(data[:len(data)-n]), 0o644))
}

// cmdWaitFor is `waitfor FILE N`: waits until the file has N lines.
func cmdWaitFor(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: waitfor file N")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	eventually(ts, 30*time.Second, func() string {
		data, _ := os.ReadFile(ts.MkAbs(args[0])) // it may not be there yet
		if got := strings.Count(string(data), "\n"); got < n {
			return args[0] + " has only " + strconv.Itoa(got) + " lines"
		}
		return ""
	})
}

// cmdWithin is `within DURATION noworker`: no process of this msgbench is left by then.
func cmdWithin(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 || args[1] != "noworker" {
		ts.Fatalf("usage: within duration noworker")
	}
	d, err := time.ParseDuration(args[0])
	ts.Check(err)
	exe := filepath.Join(filepath.SplitList(ts.Getenv("PATH"))[0], "msgbench")
	tmp := ts.Getenv("TMPDIR")
	eventually(ts, d, func() string {
		dirs, err := filepath.Glob("/proc/[0-9]*/cmdline")
		ts.Check(err)
		for _, f := range dirs {
			data, err := os.ReadFile(f)
			if err != nil {
				continue // it has ended
			}
			// Scripts run at once with one program; the folder for endpoints tells whose process it is.
			if line := string(data); strings.HasPrefix(line, exe+"\x00") && strings.Contains(line, tmp) {
				return strings.ReplaceAll(line, "\x00", " ") + " is still there"
			}
		}
		return ""
	})
}

// eventually waits until what has nothing left to say.
func eventually(ts *testscript.TestScript, within time.Duration, what func() string) {
	deadline := time.Now().Add(within)
	for {
		s := what()
		if s == "" {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%s after %s", s, within)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
