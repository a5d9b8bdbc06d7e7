package report

import (
	"testing"

	"msgbench/report/charts"
	"msgbench/results"
)

// TestScopesSideBySide has what crosses a router, in both scopes, in the table of what does not.
func TestScopesSideBySide(t *testing.T) {
	var rows []results.Row
	for _, r := range []struct{ transport, scope, dims string }{{"tcp", "", ""}, {"broker", "stack", ""}, {"broker", "raw", "/scope=raw"}} {
		rows = append(rows, results.Row{Cell: "ping-pong/" + r.transport + "/go-go/64B/max" + r.dims, Scenario: "ping-pong", Transport: r.transport,
			Client: "go", Server: "go", Payload: results.N(64), TargetRPS: "max", Loop: "closed", Latency: "rtt", Scope: r.scope, Verdict: results.Stable})
	}
	g := groups(rows)
	if len(g) != 1 || len(g[0].rows) != 3 {
		t.Fatalf("%d tables, want one of three rows", len(g))
	}
	var p []*results.Row
	for i := range rows {
		p = append(p, &rows[i])
	}
	if split := charts.Split(p); len(split) != 1 || len(split[0].Rows) != 3 {
		t.Errorf("%d facets of charts, want one of three rows", len(split))
	}
	names := map[string]bool{}
	for _, r := range g[0].rows {
		names[who(r.Row)] = true
	}
	for _, want := range []string{"tcp", "broker", "broker scope=raw"} {
		if !names[want] {
			t.Errorf("no row is called %q: %v", want, names)
		}
	}
}
