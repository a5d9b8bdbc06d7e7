package bench

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"msgbench/results"
)

// TestBrokeredCells runs what the router carries, in both scopes, in processes.
func TestBrokeredCells(t *testing.T) {
	long(t)
	w := testWorkers(t)
	w.policy.WarmupOps, w.policy.Warmup, w.policy.Count = 20, 0, 200
	w.policy.MaxRamp = 1000
	s, err := ParseSuite("s", []byte(`name: s
cells:
  - {scenario: ping-pong, transport: [broker, broker-uds], payload: [0, 8, 64, 128, 512, 1024, 65536]}
  - {scenario: ping-pong, transport: [broker, broker-uds], payload: [0, 100, 100000], scope: raw}
  - {scenario: ping-pong, transport: [broker, broker-uds], handoff: thread}
  - {scenario: ping-pong, transport: [broker, broker-uds], scope: [stack, raw], rate: 2000}
  - {scenario: pipeline, transport: [broker, broker-uds], scope: [stack, raw], mode: [cycle, window], payload: [0, 4096]}
  - {scenario: broadcast, transport: [broker, broker-uds], scope: [stack, raw], mode: [pull, flood], subscribers: [1, 3]}
  - {scenario: broadcast, transport: broker, scope: [stack, raw], rate: 2000, subscribers: 2}
  - {scenario: [batch, pipeline-batch, snapshot], transport: [broker, broker-uds], scope: [stack, raw]}
  - {scenario: data-rate, transport: [broker, broker-uds], scope: [stack, raw], payload: 1024, channels: [1, 2]}
`), testCatalog())
	if err != nil {
		t.Fatal(err)
	}
	sampleAll(t, w, s.Cells)
}

// TestBrokeredFacts looks at what a row tells of the process in the middle.
func TestBrokeredFacts(t *testing.T) {
	w := testWorkers(t)
	w.policy.Count = 200 // however long a busy machine takes for them
	for _, c := range []struct {
		scenario, scope, handoffs string
		request, response         int64
	}{{"ping-pong", "stack", "1", 204, 212}, {"ping-pong", "raw", "0", 224, 224}, {"snapshot", "stack", "1", 144, 924}, {"snapshot", "raw", "0", 164, 1461}} {
		cell := testCell("broker", 0)
		cell.Scenario, cell.Dims = c.scenario, map[string]string{"scope": c.scope}
		if c.scenario == "snapshot" {
			cell.Payload = results.NoPayload
		}
		s, err := w.Sample(context.Background(), cell)
		if err != nil || s.Measurement == nil {
			t.Fatalf("%s: %v %s %s", c.scope, err, s.Outcome, s.Reason)
		}
		m := s.Measurement
		if m.Hops != 2 || m.Facts["handoffs"] != c.handoffs || m.RequestBytes != c.request || m.ResponseBytes != c.response {
			t.Errorf("%s: %d hops, %s hand-offs, %d B and %d B", c.scope, m.Hops, m.Facts["handoffs"], m.RequestBytes, m.ResponseBytes)
		}
		for _, role := range []string{results.Client, results.Server, results.Broker} {
			if m.CPUNs[role] <= 0 || len(s.Placement[role].Allowed) == 0 {
				t.Errorf("%s: the %s has %d ns and ran on %v", c.scope, role, m.CPUNs[role], s.Placement[role].Allowed)
			}
		}
		// The kernel may have seen none of so short a time: TestSpeedBrokered asks for more than 0.
		if ns, ok := m.Router["user_ns"]; m.Router["dropped"] != 0 || m.Router["messages"] < 400 || !ok || ns < 0 || m.Facts["router_slow"] != "block" {
			t.Errorf("%s: the router tells %v, %v", c.scope, m.Router, m.Facts)
		}
		if ends, middle := s.Placement[results.Client].Asked, s.Placement[results.Broker].Asked; slices.Equal(ends, middle) && len(w.topology.Allowed) > 1 {
			t.Errorf("%s: the router shares CPU %v with the client", c.scope, ends)
		}
	}
}

// TestRouted has the router count what it forwards, in the steps of the window.
func TestRouted(t *testing.T) {
	w := testWorkers(t)
	w.policy.MaxDuration = results.Duration(400 * time.Millisecond)
	for _, channels := range []int64{1, 2} {
		for _, rate := range []int{0, 500} {
			cell := testCell("broker", rate)
			cell.Scenario, cell.Defaults = "data-rate", map[string]string{"scope": "stack"}
			cell.Dims = map[string]string{"channels": fmt.Sprint(channels)}
			w.policy.Duration = w.policy.MaxDuration
			s, err := w.Sample(context.Background(), cell)
			if err != nil || s.Measurement == nil {
				t.Fatalf("%v %s %s", err, s.Outcome, s.Reason)
			}
			x := s.Measurement.Series
			var n int64
			for _, k := range x.Routed {
				n += k
			}
			if n != s.Measurement.Received+channels || len(x.Routed) != len(x.Received) || len(x.Routed) < 3 || x.StartNs%1e7 != 0 {
				t.Errorf("%d channels at %d/s: routed %v, received %v", channels, rate, x.Routed, x.Received)
			}
		}
	}
}

// TestBrokerDies fails the sample, with the router as the reason.
func TestBrokerDies(t *testing.T) {
	w := testWorkers(t)
	w.policy.MaxDuration = results.Duration(2 * time.Second)
	t.Setenv(faultVar, "broker:dies at its start")
	cell := testCell("broker", 0)
	cell.Defaults = map[string]string{"scope": "stack"}
	s, err := w.Sample(context.Background(), cell)
	if err != nil {
		t.Fatal(err)
	}
	if s.Outcome != results.Failed || !strings.Contains(s.Reason, "broker ended: exit status 7") {
		t.Errorf("%s: %q, want failed, with the broker's end", s.Outcome, s.Reason)
	}
}

func TestRefusedScopes(t *testing.T) {
	for spec, says := range map[string]string{
		"scenario: batch, transport: broker, scope: row": `scope: "row" is neither stack nor raw`,
		"scenario: ping-pong, transport: broker, payload: 100": "scope=stack of broker carries 0, 8, 16, 32, 64, " +
			"128, 256, 512, 1024, 4096, 65536 B, not 100 B",
		"scenario: ping-pong, transport: broker, scope: all":                    `scope: "all" is neither stack nor raw`,
		"scenario: ping-pong, transport: tcp, scope: raw":                       "scope: ping-pong has no such dimension",
		"scenario: ping-pong, transport: broker, scope: raw, handoff: thread":   "scope=raw hands nothing over",
		"scenario: ping-pong, transport: broker-uds, handoff: process":          `handoff: "process" is neither goroutine nor thread`,
		"scenario: ping-pong, transport: broker, scope: raw, payload: 1000000k": "payload",
	} {
		_, err := ParseSuite("s", []byte("name: s\ncells:\n  - {"+spec+"}\n"), testCatalog())
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v, want one that says %q", spec, err, says)
		}
	}
}
