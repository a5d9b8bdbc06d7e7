package report

import (
	"strings"
	"testing"

	"msgbench/results"
)

// A row that drifts says so beside its verdict, in every table that has one, and the legend says what that means.
func TestDriftIsMarked(t *testing.T) {
	row := results.Row{Cell: "ping-pong/shm/go-go/8B/max", Scenario: "ping-pong", Transport: "shm", Client: "go", Server: "go", Payload: results.N(8),
		Loop: results.Closed, TargetRPS: "max", Throughput: results.N(1e6), Latency: results.RTT, Source: "measured", Verdict: results.Stable,
		DriftPct: results.N(-12.34), Trend: results.Falling}
	still := row
	still.Cell, still.Transport, still.Trend = "ping-pong/uds/go-go/8B/max", "uds", ""
	rows := []results.Row{row, still}
	text := Ranking(rows)
	if strings.Count(text, "stable, falling 12.3 %") != 1 || !strings.Contains(text, "\n1 row falling or rising: over the rounds, by more than noise\n") {
		t.Errorf("%s", text)
	}
	for name, page := range map[string]string{"markdown": Markdown(Document{Table: results.Table{Rows: rows}}), "comparison": Comparison(Document{Table: results.Table{Rows: rows}})} {
		if strings.Count(page, "stable, falling 12.3 %") != 1 {
			t.Errorf("%s:\n%s", name, page)
		}
	}
	if legend := Legend([]results.Row{still}); legend != "" {
		t.Errorf("legend %q", legend)
	}
}
