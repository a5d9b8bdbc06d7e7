package cli

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"msgbench/results"
)

var (
	faultsSeed  = flag.Uint64("faults.seed", 0, "seed of the random faults (0: a new one)")
	faultsCount = flag.Int("faults.count", 0, "how many faults (0: 50 where everything is asked for, else 7)")
)

// faultsSuite has every role: client, server, broker, publisher, subscriber.
const faultsSuite = `name: faults
samples: 3
duration: 60ms
max-duration: 60ms
warmup: 10ms
reruns: 0
max-ramp: 1000
core-ratio: 100
min-delivered: 0
cells:
  - scenario: ping-pong
    transport: [pipe, shm, uds, tcp, zmq-ipc, nng-tcp, broker]
    rate: max
  - scenario: broadcast
    transport: [uds, nng-ipc]
    payload: 64
    subscribers: 2
    mode: pull
  - scenario: data-rate
    transport: shm
    payload: 64
    rate: max
`

const faultsCells = 10

// TestInjectedFaults runs a suite again and again while faults are done to its processes and to what they stand on, at
// random moments: most spoil a worker, and the last one of each run the whole run, which is then resumed. After each run no
// process and no endpoint may be left, no sample that was finished may be lost, and every row that is published must be
// what its good samples say.
func TestInjectedFaults(t *testing.T) {
	seed, count := *faultsSeed, *faultsCount
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	if count == 0 {
		if count = 7; os.Getenv("MSGBENCH_NEED_PEERS") != "" {
			count = 50
		}
	}
	t.Logf("go test ./cli -run TestInjectedFaults -faults.count %d -faults.seed %d", count, seed)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const perRun = 7
	var mu sync.Mutex
	done := map[string]int{}
	t.Run("runs", func(t *testing.T) {
		for i := 0; i*perRun < count; i++ {
			n := min(perRun, count-i*perRun)
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel() // some wait for a deadline, most of the time
				f := &faulty{t: t, exe: exe, r: rand.New(rand.NewPCG(seed, uint64(i))), done: map[string]int{}}
				f.all(n)
				mu.Lock()
				defer mu.Unlock()
				for k, v := range f.done {
					done[k] += v
				}
			})
		}
	})
	var words []string
	total := 0
	for k, v := range done {
		words = append(words, fmt.Sprintf("%s %d", k, v))
		total += v
	}
	slices.Sort(words)
	t.Logf("%d faults: %s", total, strings.Join(words, ", "))
	if total != count && !t.Failed() {
		t.Errorf("%d faults were done, want %d", total, count)
	}
}

// faulty is one run that faults are done to.
type faulty struct {
	t        *testing.T
	exe      string
	r        *rand.Rand
	dir, tmp string // of the run directory, on a file system of its own where that is allowed; of its endpoints
	out      string
	disk     bool
	kept     []byte // of the journal, when it was last looked at: whole lines
	stderr   bytes.Buffer
	done     map[string]int
}

// all does n faults, the last one to the whole run, and resumes until the run is whole.
func (f *faulty) all(n int) {
	t := f.t
	f.dir, f.tmp = t.TempDir(), t.TempDir()
	f.disk = smallDisk(t, f.dir)
	f.out = filepath.Join(f.dir, "run")
	suite := filepath.Join(f.tmp, "suite.yaml")
	if err := os.WriteFile(suite, []byte(faultsSuite), 0o644); err != nil {
		t.Fatal(err)
	}
	args := []string{"run", suite, "--out", f.out, "--seed", "1", "-q"}
	for left := n; ; {
		cmd := f.start(args)
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		kept, undo := f.lines(), func() {}
		err, over := error(nil), false
		for !over && left > 0 {
			select {
			case err = <-ended:
				over = true
			case <-time.After(time.Duration(50+f.r.IntN(500)) * time.Millisecond):
				kept = f.lines()
				if left == 1 && kept > 0 {
					undo = f.spoilRun(cmd)
					left--
				} else if left > 1 && f.spoilWorker() {
					left--
				}
			}
		}
		if !over {
			select {
			case err = <-ended:
			case <-time.After(2 * time.Minute):
				_ = cmd.Process.Kill()
				t.Fatalf("the run does not end\n%s", f.stderr.String())
			}
		}
		undo()
		f.nothingLeft()
		whole := f.check(kept)
		if left == 0 && whole {
			return
		}
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() == exitUsage {
			t.Fatalf("exit code 2: %s", f.stderr.String())
		}
		if _, err := os.Stat(filepath.Join(f.out, results.JournalFile)); err != nil || whole {
			// Nothing was measured yet, or all was: there is nothing to go on with.
			if err := os.RemoveAll(f.out); err != nil {
				t.Fatal(err)
			}
			args = []string{"run", suite, "--out", f.out, "--seed", "1", "-q"}
			continue
		}
		args = []string{"run", "--resume", f.out, "-q"}
	}
}

func (f *faulty) start(args []string) *exec.Cmd {
	f.stderr.Reset()
	cmd := exec.Command(f.exe, args...)
	cmd.Env = append(os.Environ(), "TMPDIR="+f.tmp, asProgram+"=1", "GORACE="+raceEnv)
	cmd.Stderr = &f.stderr
	if err := cmd.Start(); err != nil {
		f.t.Fatal(err)
	}
	return cmd
}

// lines is how many samples are finished by now: whole lines of the journal.
func (f *faulty) lines() int {
	data, _ := os.ReadFile(filepath.Join(f.out, results.JournalFile)) // it may not be there yet
	f.kept = data[:bytes.LastIndexByte(data, '\n')+1]
	return bytes.Count(f.kept, []byte("\n"))
}

// nothingLeft waits a moment for the end of all processes of the run and of its endpoints.
func (f *faulty) nothingLeft() {
	deadline := time.Now().Add(5 * time.Second)
	for {
		left := processesOf(f.t, f.tmp)
		files, err := filepath.Glob(filepath.Join(f.tmp, "msgbench-*"))
		if err != nil {
			f.t.Fatal(err)
		}
		if len(left)+len(files) == 0 {
			return
		}
		if time.Now().After(deadline) {
			f.t.Fatalf("there are still the processes %v and the files %v\n%s", left, files, f.stderr.String())
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// check reads what the run has left, holds each row against the samples, and says whether every cell has a row.
func (f *faulty) check(kept int) bool {
	t := f.t
	journal, err := os.ReadFile(filepath.Join(f.out, results.JournalFile))
	if errors.Is(err, os.ErrNotExist) && kept == 0 {
		return false
	}
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(journal, f.kept) {
		t.Errorf("the journal does not begin any more with the %d lines that it had before the fault", kept)
	}
	samples, _, err := results.ParseJournal(journal)
	if err != nil {
		t.Fatal(err)
	}
	failed, good := map[string]bool{}, map[string][]float64{}
	for i, s := range samples {
		if s.Order != i {
			t.Errorf("line %d of the journal has order %d", i+1, s.Order)
		}
		switch s.Outcome {
		case results.Failed:
			failed[s.Cell] = true
			if s.Reason == "" || strings.Contains(s.Reason, "\n") {
				t.Errorf("%s failed with the reason %q", s.Cell, s.Reason)
			}
		case results.OK:
			m := s.Measurement
			good[s.Cell] = append(good[s.Cell], m.Throughput())
			if m.Sent == 0 || m.Lost+m.Duplicated+m.Reordered > 0 {
				t.Errorf("%s: an ok sample with %d sent, %d lost, %d twice, %d late", s.Cell, m.Sent, m.Lost, m.Duplicated, m.Reordered)
			}
		}
	}
	table, err := results.ReadCSV(filepath.Join(f.out, results.CSVFile))
	if errors.Is(err, os.ErrNotExist) {
		return false // the run ended before its rows were written
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range table.Rows {
		switch {
		case failed[r.Cell] != (r.Verdict == results.Failed):
			t.Errorf("%s is %s, and a sample of it failed: %v", r.Cell, r.Verdict, failed[r.Cell])
		case results.Publishable(r.Verdict):
			want := good[r.Cell]
			slices.Sort(want)
			if len(want) != 3 || !near(r.Throughput.Or(0), want[1]) {
				t.Errorf("%s is %s with %v per second, its good samples say %v", r.Cell, r.Verdict, r.Throughput, want)
			}
		}
	}
	return len(table.Rows) == faultsCells
}

func near(a, b float64) bool { return a > b*0.999 && a < b*1.001 }
