package bench

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"msgbench/bench/areg"
	"msgbench/bench/areg/aregtest"
	"msgbench/pinning"
	"msgbench/results"
)

// aregStandIn is a Sampler of the stand-in's programs.
func aregStandIn(t *testing.T, policy results.Policy) *aregSampler {
	t.Helper()
	tmp, dir := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", tmp)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := aregtest.Install(dir, exe); err != nil {
		t.Fatal(err)
	}
	found, err := areg.Find(dir)
	if err != nil {
		t.Fatal(err)
	}
	topology, err := pinning.System()
	if err != nil {
		t.Fatal(err)
	}
	w, err := NewWorkers(exe, nil, policy, topology, pinning.Plan{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	})
	s, err := w.WithAreg(found)
	if err != nil {
		t.Fatal(err)
	}
	return s.(*aregSampler)
}

func aregCell(scenario string, payload int) results.Cell {
	c := results.Cell{Scenario: scenario, Transport: areg.Name, Client: areg.Name, Server: areg.Name, Payload: payload,
		Defaults: map[string]string{"wait": "block", "scope": "stack"}, Dims: map[string]string{}}
	if scenario == "broadcast" {
		c.Dims["mode"], c.Defaults["subscribers"] = "pull", "1"
	}
	return c
}

func aregPolicy(count int64) results.Policy {
	p := results.DefaultPolicy()
	p.Warmup, p.WarmupOps, p.Count, p.MaxRamp = 0, 20, count, 1000
	return p
}

func TestAregSample(t *testing.T) {
	for _, c := range []struct {
		cell              results.Cell
		latency           string
		roles             []string
		request, response int64
	}{
		{aregCell("ping-pong", 64), results.RTT, []string{"broker", "server", "client"}, 204, 212},
		{aregCell("broadcast", 65536), results.OneWay, []string{"broker", "publisher", "subscriber"}, 65676, 0},
	} {
		t.Run(c.cell.Key(), func(t *testing.T) {
			s := aregStandIn(t, aregPolicy(300))
			before := time.Now()
			x, err := s.Sample(context.Background(), c.cell)
			if err != nil || x.Outcome != results.OK {
				t.Fatalf("%v, %s: %s %v", err, x.Outcome, x.Reason, x.Stderr)
			}
			m := x.Measurement
			if m.Ops != 300 || m.Sent != 300 || m.Received != 300 || m.Latency.Count() != 300 || m.PayloadBytes != int64(300*c.cell.Payload) ||
				m.LatencyKind != c.latency || m.RequestBytes != c.request || m.ResponseBytes != c.response || m.Hops != 2 || m.WarmupOps != 20 {
				t.Errorf("%+v", m)
			}
			if m.Loop != results.Closed || m.Facts["cpu"] != "process" || m.Facts["areg-sdk"] != "0.0.1 Release" {
				t.Errorf("loop %s, facts %v", m.Loop, m.Facts)
			}
			if len(m.ThirdsNs) != 3 || m.ThirdsNs[0]+m.ThirdsNs[1]+m.ThirdsNs[2] != m.WindowNs || m.Thirds[0] != 100 {
				t.Errorf("thirds %v, %v of %d", m.Thirds, m.ThirdsNs, m.WindowNs)
			}
			if m.WindowNs <= 0 || m.WindowNs > int64(time.Since(before)) {
				t.Errorf("window %d", m.WindowNs)
			}
			for _, role := range c.roles {
				pl := x.Placement[role]
				if m.CPUNs[role] <= 0 || pl.PID == 0 || pinning.FormatList(pl.Asked) != pinning.FormatList(pl.Allowed) {
					t.Errorf("%s: CPU %d, %+v", role, m.CPUNs[role], pl)
				}
				if alive(pl.PID) {
					t.Errorf("%s is still there", role)
				}
			}
			if x.Relation == "" {
				t.Error("no relation")
			}
		})
	}
}

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

func TestAregWindow(t *testing.T) {
	p := aregPolicy(0)
	p.MaxDuration = results.Duration(time.Second) // a median takes 20 operations
	t.Setenv(aregtest.PauseVar, "10ms")           // longer than a latency, also on a loaded machine
	t.Setenv(aregtest.GridVar, "256")
	s := aregStandIn(t, p)
	x, err := s.Sample(context.Background(), aregCell("ping-pong", 8))
	if err != nil || x.Outcome != results.OK {
		t.Fatalf("%v, %s: %s %v", err, x.Outcome, x.Reason, x.Stderr)
	}
	m := x.Measurement
	if m.WindowNs < 1e9 || m.Facts["step_ns"] != "256" || m.Loop != results.Pausing {
		t.Errorf("window %d, %v, loop %s", m.WindowNs, m.Facts, m.Loop)
	}
	if m.Thirds[0]+m.Thirds[1]+m.Thirds[2] != m.Ops {
		t.Errorf("thirds %v of %d", m.Thirds, m.Ops)
	}
	if s.period["ping-pong/areg/areg-areg/8B/max"] < 10*time.Millisecond {
		t.Errorf("period %v", s.period)
	}
}

func TestAregFaults(t *testing.T) {
	want := map[string]string{
		"nofile":   "the consumer has written no samples",
		"header":   `samples.csv:3: columns "seq,mode,t1_us,t4_us,rtt_us", want "seq,mode,t1_ns,t2_ns,t4_ns,rtt_ns,rtt_us": another version of areg-sdk?`,
		"negative": "samples.csv:54: sent at ", // 3 lines of head, the middle of 100
		"cut":      "samples.csv:104: the line is cut off",
		"exit2":    `the service provider did not become reachable within 30 seconds.`,
		"hang":     "client hangs: no result within ",
		"provider": "server ended: exit status 9",
		"router":   "broker ended: exit status 7",
		"lost":     "samples.csv: 1 samples are missing, 0 there twice, 0 out of place",
		"twice":    "samples.csv: 1 samples are missing, 1 there twice, 0 out of place",
		"overlap":  "more than one in flight",
		"mode":     `samples.csv:54: mode "pp1", asked for "pp64"`,
		"count":    "samples.csv has 100 samples, its head says 101",
		"silent":   "client ended: exit status 0, no result: it has printed nothing",
		"deaf":     "the router does not listen on port ",
		"short":    "the consumer measured 50 operations, asked for 100",
		"old":      "client hangs: no result within ",
	}
	for _, fault := range aregtest.Faults {
		if fault == "old" { // found out before anything is started: see TestAregProbe
			continue
		}
		t.Run(fault, func(t *testing.T) {
			t.Setenv(aregtest.FaultVar, fault)
			policy := aregPolicy(100)
			if fault == "hang" { // by time, so that the deadline is short
				policy.Count, policy.WarmupOps, policy.MaxDuration = 0, 0, results.Duration(10*time.Millisecond)
			}
			if fault == "router" {
				t.Setenv(aregtest.PauseVar, "3ms")
			}
			s := aregStandIn(t, policy)
			if fault == "hang" || fault == "deaf" {
				s.limits = limits{ready: 500 * time.Millisecond, grace: 100 * time.Millisecond, stop: time.Second}
			}
			x, err := s.Sample(context.Background(), aregCell("ping-pong", 64))
			if err != nil {
				t.Fatal(err)
			}
			if x.Outcome != results.Failed || want[fault] == "" || !strings.Contains(x.Reason, want[fault]) || strings.Contains(x.Reason, "\n") {
				t.Errorf("%s: %q, want %q", x.Outcome, x.Reason, want[fault])
			}
			for role, pl := range x.Placement {
				if alive(pl.PID) {
					t.Errorf("%s is still there", role)
				}
			}
			if fault != "hang" && fault != "short" {
				return
			}
			// The next sample is not spoiled by what the last one left: processes, or a file.
			t.Setenv(aregtest.FaultVar, "")
			s.limits = defaultLimits
			if x, err = s.Sample(context.Background(), aregCell("ping-pong", 64)); err != nil || x.Outcome != results.OK {
				t.Errorf("after it: %v, %s: %s", err, x.Outcome, x.Reason)
			}
		})
	}
}

// TestAregProbe: an areg-sdk that can't run without a console is told by its provider's usage.
func TestAregProbe(t *testing.T) {
	s := aregStandIn(t, aregPolicy(10))
	if err := s.stage.Probe(context.Background()); err != nil {
		t.Error(err)
	}
	t.Setenv(aregtest.FaultVar, "old")
	begun := time.Now()
	if err := s.stage.Probe(context.Background()); err == nil || !strings.Contains(err.Error(), "too old to run headless") || time.Since(begun) > 10*time.Second {
		t.Errorf("%v after %s", err, time.Since(begun))
	}
}

// TestAregPortTaken: somebody takes the port that the router was to have.
func TestAregPortTaken(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	if own, taken, err := listens(os.Getpid(), port); !own || taken || err != nil {
		t.Errorf("own listener: own %t, taken %t, %v", own, taken, err)
	}
	if own, taken, err := listens(os.Getppid(), port); own || !taken || err != nil {
		t.Errorf("somebody else's: own %t, taken %t, %v", own, taken, err)
	}
	l.Close()
	if own, taken, err := listens(os.Getpid(), port); own || taken || err != nil {
		t.Errorf("nobody's: own %t, taken %t, %v", own, taken, err)
	}
}

// TestAregTwoRuns: two runs at once have routers of their own.
func TestAregTwoRuns(t *testing.T) {
	a, b := aregStandIn(t, aregPolicy(200)), aregStandIn(t, aregPolicy(200))
	var wg sync.WaitGroup
	for _, s := range []*aregSampler{a, b} {
		wg.Go(func() {
			for range 3 {
				if x, err := s.Sample(context.Background(), aregCell("broadcast", 0)); err != nil || x.Outcome != results.OK {
					t.Errorf("%v, %s: %s", err, x.Outcome, x.Reason)
				}
			}
		})
	}
	wg.Wait()
}

// TestAregInterrupted: Ctrl-C ends the programs at once.
func TestAregInterrupted(t *testing.T) {
	t.Setenv(aregtest.FaultVar, "hang")
	s := aregStandIn(t, aregPolicy(100))
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	begun := time.Now()
	if x, err := s.Sample(ctx, aregCell("ping-pong", 64)); !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) > 10*time.Second {
		t.Errorf("%v after %s: %+v", err, time.Since(begun), x)
	}
}
