package bench

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"msgbench/pinning"
	"msgbench/results"
)

func testWorkers(t *testing.T) *Workers {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	// Else each worker with the race detector in it sleeps for a second at its end.
	t.Setenv("GORACE", "atexit_sleep_ms=0 "+os.Getenv("GORACE"))
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	topology, err := pinning.System()
	if err != nil {
		t.Fatal(err)
	}
	policy := results.DefaultPolicy()
	policy.Duration, policy.MaxDuration = results.Duration(100*time.Millisecond), results.Duration(100*time.Millisecond)
	policy.Warmup = results.Duration(10 * time.Millisecond)
	w, err := NewWorkers(exe, map[string]Peer{"go": {Path: exe}}, policy, topology, pinning.Plan{})
	if err != nil {
		t.Fatal(err)
	}
	w.limits = limits{ready: 3 * time.Second, grace: 3 * time.Second, stop: 2 * time.Second, leave: leaveTime}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		left, err := os.ReadDir(os.Getenv("TMPDIR"))
		if err != nil || len(left) > 0 {
			t.Errorf("left in the folder for endpoints: %v %v", left, err)
		}
	})
	return w
}

func testCell(transport string, rate int) results.Cell {
	return results.Cell{Scenario: "ping-pong", Transport: transport, Client: "go", Server: "go", Payload: 64, Rate: rate}
}

func TestFaultsAreFailedSamples(t *testing.T) {
	for _, c := range []struct {
		fault  string
		reason string // part of it
		stderr string
	}{
		{"server:dies at once", `server ended before "ready": exit status 7`, "cannot go on"},
		{"client:dies at once", `client ended before "ready": exit status 7`, "cannot go on"},
		{"server:hangs at once", `server hangs: no "ready" within 3s`, ""},
		{"server:nonsense", `server printed "lorem ipsum" where "ready" was expected`, ""},
		{"client:nonsense", `client printed "lorem ipsum" where "ready" was expected`, ""},
		{"server:bad json", "server: ready: invalid character", ""},
		{"server:no endpoint", "server: ready with 0 endpoints, want 1", ""},
		{"client:prints for ever", "client printed a line of more than 16 MiB", ""},
		{"client:many lines", `client printed "x" where "ready" was expected`, ""},
		{"client:dies in the window", "client ended", ""},
		{"client:hangs in the window", `client hangs: no "done" within`, ""},
		{"server:dies before its result", "server ended", ""},
		{"client:dies before its result", `client ended before "result": exit status 7`, ""},
		{"client:no operation", "the client sent 0 messages in the window", ""},
		{"client:negative latency", "histogram: ", ""},
		{"server:never ends", "server after its result: server did not end within 2s", ""},
		{"client:stops itself", "client after its result: exit status 5", ""},
		{"server:stops itself", "exit status 5", ""},
		{"server:talks on", `server printed "measuring" after its result`, ""},
		{"client:talks on", `client printed "measuring" after its result`, ""},
		{"client:fails on", "client after its result: it broke", ""},
		{"server:64 MiB", `server printed "x" after its result`, ""},
	} {
		t.Run(c.fault, func(t *testing.T) {
			w := testWorkers(t)
			t.Setenv(faultVar, c.fault)
			s, err := w.Sample(context.Background(), testCell("tcp", 0))
			if err != nil {
				t.Fatal(err)
			}
			if s.Outcome != results.Failed || !strings.Contains(s.Reason, c.reason) {
				t.Fatalf("%s: %q, want failed: %q", s.Outcome, s.Reason, c.reason)
			}
			if strings.ContainsAny(s.Reason, "\n") || s.Measurement != nil {
				t.Errorf("a failed sample has one line of reason and no measurement: %q %v", s.Reason, s.Measurement)
			}
			role, _, _ := strings.Cut(c.fault, ":")
			if !strings.Contains(s.Stderr[role], c.stderr) {
				t.Errorf("stderr %q, want %q", s.Stderr, c.stderr)
			}
			// The next sample is not touched by it.
			t.Setenv(faultVar, "")
			s, err = w.Sample(context.Background(), testCell("tcp", 0))
			if err != nil || s.Outcome == results.Failed {
				t.Errorf("the sample after it: %s %q %v", s.Outcome, s.Reason, err)
			}
		})
	}
}

// A client that was not measured as asked has no figures, however good its own are.
func TestResultsThatWereNotAskedForAreFailedSamples(t *testing.T) {
	for _, c := range []struct {
		fault  string
		rate   int
		reason string
	}{
		{"a short window", 0, " of a window of 1000000 ns"},
		{"a long warm-up", 0, "client: a warm-up of 1h0m0s and a window of 1"},
		{"CPU time of nobody", 0, "client: cpu_ns of the subscriber, which this cell has not"},
		{"CPU time of a hundred", 0, "client: the server used 1h0m0s of CPU time, want at most "},
		{"figures of others", 0, "client: it tells 1 of the server, want figures of itself"},
		{"an odd fact", 0, `client: the fact "odd"="two\nlines"`},
		{"many hops", 0, "client: hops is 3, want 1"},
		{"routed", 0, "client: it tells what only the runner, or a process in the middle, can know"},
		{"some latencies", 0, "1 latencies of "},
		{"no latencies", 0, "0 latencies of "},
		{"no thirds", 0, "client: thirds and thirds_ns have 0 and 3 values, want 3"},
		{"a loss", 0, ": 1 lost, 0 twice, 0 late, and none may be"},
		{"too few replies", 0, "the client received 1 replies to "},
		{"no lateness", 1000, "0 values of its own lateness of "},
	} {
		t.Run(c.fault, func(t *testing.T) {
			w := testWorkers(t)
			t.Setenv(faultVar, "client:"+c.fault)
			s, err := w.Sample(context.Background(), testCell("tcp", c.rate))
			if err != nil {
				t.Fatal(err)
			}
			if s.Outcome != results.Failed || !strings.Contains(s.Reason, c.reason) {
				t.Errorf("%s: %q, want failed: %q", s.Outcome, s.Reason, c.reason)
			}
		})
	}
}

// One side that tells less, or more, than it received is found out by the other.
func TestOneWayResultsThatContradictAreFailedSamples(t *testing.T) {
	stream := results.Cell{Scenario: "data-rate", Transport: "tcp", Client: "go", Server: "go", Payload: 64}
	broadcast := results.Cell{Scenario: "broadcast", Transport: "tcp", Client: "go", Server: "go", Payload: 64,
		Dims: map[string]string{"mode": "pull", "subscribers": "2"}}
	for _, c := range []struct {
		cell   results.Cell
		fault  string
		reason string
	}{
		{stream, "server:a short stream", "the server: a window of 1000000 ns, want 100000000 ns at least"},
		{stream, "server:fewer received", "messages in the window, the server received "},
		{stream, "server:a loss in its place", ": 1 lost, 0 twice, 0 late, and none may be"},
		{stream, "server:no thirds", "the server: thirds and thirds_ns have 0 and 0 values"},
		{stream, "client:a short window", "and at most the 1000000 ns after which the client had all its answers"},
		{broadcast, "subscriber:fewer received", "subscriber 1: "},
		{broadcast, "subscriber:a loss in its place", "subscriber 1: "},
		{broadcast, "subscriber:no latencies", "subscriber 1: 0 latencies of "},
		{broadcast, "publisher:no thirds", "the publisher counts thirds and thirds_ns have 0 and 3 values"},
	} {
		t.Run(c.fault, func(t *testing.T) {
			w := testWorkers(t)
			t.Setenv(faultVar, c.fault)
			s, err := w.Sample(context.Background(), c.cell)
			if err != nil {
				t.Fatal(err)
			}
			if s.Outcome != results.Failed || !strings.Contains(s.Reason, c.reason) {
				t.Errorf("%s: %q, want failed: %q", s.Outcome, s.Reason, c.reason)
			}
		})
	}
}

// What a worker writes to its standard error changes nothing, however much it is.
func TestNoiseOnStandardErrorIsNoFault(t *testing.T) {
	w := testWorkers(t)
	w.limits.grace = 30 * time.Second
	t.Setenv(faultVar, "client:64 MiB of noise")
	s, err := w.Sample(context.Background(), testCell("tcp", 0))
	if err != nil || s.Outcome == results.Failed {
		t.Errorf("%s %q %v", s.Outcome, s.Reason, err)
	}
}

func TestSample(t *testing.T) {
	w := testWorkers(t)
	for _, rate := range []int{0, 2000} {
		cell := testCell("tcp", rate)
		s, err := w.Sample(context.Background(), cell)
		if err != nil {
			t.Fatal(err)
		}
		if s.Outcome == results.Failed {
			t.Fatalf("%s: %s %v", cell.Key(), s.Reason, s.Stderr)
		}
		m := s.Measurement
		if m.Ops == 0 || m.Sent != m.Ops || m.Received != m.Ops || m.Lost+m.Duplicated+m.Reordered != 0 {
			t.Errorf("counts: %+v", m)
		}
		if m.Latency.Count() != m.Ops {
			t.Errorf("%d latencies of %d operations", m.Latency.Count(), m.Ops)
		}
		if got, want := m.Thirds[0]+m.Thirds[1]+m.Thirds[2], m.Ops; got != want {
			t.Errorf("thirds add up to %d of %d", got, want)
		}
		if m.PayloadBytes != m.Ops*64 || m.WarmupOps == 0 {
			t.Errorf("payload %d B of %d operations, %d in warm-up", m.PayloadBytes, m.Ops, m.WarmupOps)
		}
		if rate > 0 {
			if m.Loop != results.Paced || m.LatencyKind != results.Response || m.Service.Count() != m.Ops || m.Lateness.Count() != m.Ops {
				t.Errorf("paced: %s %s service %d late %d", m.Loop, m.LatencyKind, m.Service.Count(), m.Lateness.Count())
			}
		} else if m.Loop != results.Closed || m.LatencyKind != results.RTT || m.Service != nil {
			t.Errorf("closed: %s %s", m.Loop, m.LatencyKind)
		}
		if rate == 0 {
			// One reading of the clock ends an operation and starts the next.
			mean, _ := m.Latency.Mean()
			if sum := mean * float64(m.Ops); sum < float64(m.WindowNs)*0.999 || sum > float64(m.WindowNs)*1.001 {
				t.Errorf("latencies add up to %.0f ns of a window of %d ns", sum, m.WindowNs)
			}
		}
		for _, role := range []string{results.Client, results.Server} {
			p := s.Placement[role]
			if p.PID == 0 || w.topology.CanPin && (len(p.Allowed) != 1 || p.Allowed[0] != p.Asked[0]) {
				t.Errorf("placement of the %s: %+v", role, p)
			}
			if w.topology.CanPin && m.CPUNs[role] <= 0 {
				t.Errorf("no CPU time of the %s: %v", role, m.CPUNs)
			}
			if m.RSS[role] <= 0 {
				t.Errorf("no resident size of the %s: %v", role, m.RSS)
			}
		}
	}
}

// Processes that hear nothing are waited for together, not one after the other.
func TestDeafWorkersAreKilledTogether(t *testing.T) {
	w := testWorkers(t)
	t.Setenv(faultVar, "subscriber:deaf")
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	cell := results.Cell{Scenario: "broadcast", Transport: "uds", Client: "go", Server: "go", Payload: 8,
		Dims: map[string]string{"subscribers": "12", "mode": "flood"}}
	if _, err := w.Sample(ctx, cell); err == nil {
		t.Fatal("no error")
	}
	ended, _ := ctx.Deadline()
	// One after the other they would take 12 times as long.
	if d := time.Since(ended); d > 10*leaveTime {
		t.Errorf("12 deaf workers were gone %s after the end, want about %s", d, leaveTime)
	}
}

func TestCancelEndsTheSample(t *testing.T) {
	w := testWorkers(t)
	w.policy.MaxDuration = results.Duration(time.Minute)
	ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	begun := time.Now()
	_, err := w.Sample(ctx, testCell("shm", 0))
	if err == nil || ctx.Err() == nil {
		t.Fatalf("err %v", err)
	}
	if d := time.Since(begun); d > 10*time.Second {
		t.Errorf("took %s", d)
	}
}
