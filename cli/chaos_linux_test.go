package cli

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"msgbench/results"
)

var (
	chaosSeed  = flag.Uint64("chaos.seed", 0, "seed of the random kills (0: a new one)")
	chaosKills = flag.Int("chaos.kills", 8, "how many kills")
)

const chaosSuite = `name: chaos
samples: 1
duration: 100ms
max-duration: 100ms
warmup: 10ms
reruns: 0
max-ramp: 1000
cells:
  - scenario: ping-pong
    transport: [pipe, shm, uds, tcp, zmq-tcp, zmq-ipc, nng-tcp, nng-ipc]
    rate: max
`

// TestKills kills a worker, the janitor or the runner at random moments. Nothing may be left of it a second later, no
// sample that was finished may be lost, and a killed worker spoils its own cell only.
func TestKills(t *testing.T) {
	seed := *chaosSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("go test ./cli -run TestKills -chaos.kills %d -chaos.seed %d", *chaosKills, seed)
	r := rand.New(rand.NewPCG(seed, 0))
	dir := t.TempDir()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	suite := filepath.Join(dir, "chaos.yaml")
	if err := os.WriteFile(suite, []byte(chaosSuite), 0o644); err != nil {
		t.Fatal(err)
	}
	for i := range *chaosKills {
		victim := []string{"runner", "client", "server"}[r.IntN(3)]
		after := time.Duration(r.IntN(1500)) * time.Millisecond
		t.Run(fmt.Sprintf("%d %s after %s", i, victim, after), func(t *testing.T) { killOne(t, exe, suite, victim, after) })
	}
}

func killOne(t *testing.T, exe, suite, victim string, after time.Duration) {
	tmp, out := t.TempDir(), filepath.Join(t.TempDir(), "run")
	cmd := exec.Command(exe, "run", suite, "--out", out, "-q")
	cmd.Env = append(os.Environ(), "TMPDIR="+tmp, asProgram+"=1", "GORACE="+raceEnv)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(after)
	killed := victim == "runner"
	if killed {
		cmd.Process.Kill()
	} else {
		for end := time.Now().Add(5 * time.Second); !killed && time.Now().Before(end); {
			for _, p := range processesOf(t, tmp) {
				if strings.Contains(p.line, "role="+victim) {
					killed = syscall.Kill(p.pid, syscall.SIGKILL) == nil
					break
				}
			}
		}
	}
	if !killed {
		t.Errorf("found no %s to kill", victim)
	}
	err := cmd.Wait()
	deadline := time.Now().Add(time.Second)
	for {
		left := processesOf(t, tmp)
		files, err := os.ReadDir(tmp)
		if err != nil {
			t.Fatal(err)
		}
		if len(left)+len(files) == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("a second later there are still the processes %v and the files %v", left, files)
		}
		time.Sleep(10 * time.Millisecond)
	}
	if victim == "runner" {
		checkJournal(t, out)
		return
	}
	samples, cut, err2 := results.ReadJournal(filepath.Join(out, results.JournalFile))
	if err2 != nil || cut != 0 {
		t.Fatalf("journal: %v, %d bytes cut; run: %v %s", err2, cut, err, stderr.String())
	}
	failed := map[string]string{}
	seen := map[string]bool{}
	for _, s := range samples {
		if s.Outcome == results.Calibrated { // one that was hit has its reason, and spoils nothing
			continue
		}
		seen[s.Cell] = true
		if s.Outcome == results.Failed {
			failed[s.Cell] = s.Reason
		}
	}
	// A server killed after its result and before its end is noticed as well; but a worker killed while it is ending
	// already may have ended well.
	if len(failed) > 1 || len(seen) != 8 {
		t.Errorf("%d cells failed (%v), %d cells have samples; want at most 1 and 8", len(failed), failed, len(seen))
	}
	for cell, reason := range failed {
		if reason == "" || strings.Contains(reason, "\n") {
			t.Errorf("%s: reason %q", cell, reason)
		}
	}
}

// checkJournal reads what a killed runner left: whole samples, and at most one that was cut.
func checkJournal(t *testing.T, out string) {
	path := filepath.Join(out, results.JournalFile)
	if _, err := os.Stat(path); os.IsNotExist(err) {
		return // killed before the first sample
	}
	if _, _, err := results.ReadJournal(path); err != nil {
		t.Error(err)
	}
}

type chaosProcess struct {
	pid  int
	line string
}

// processesOf finds the workers and the janitor of one run by the folder of its endpoints.
func processesOf(t *testing.T, tmp string) []chaosProcess {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var out []chaosProcess
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			continue // it has ended
		}
		line := strings.ReplaceAll(string(data), "\x00", " ")
		if !strings.Contains(line, " worker ") && !strings.Contains(line, " janitor ") || !strings.Contains(line, tmp) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(f)))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, chaosProcess{pid, line})
	}
	return out
}
