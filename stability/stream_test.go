package stability

import (
	"strings"
	"testing"

	"msgbench/results"
)

var stream = results.Cell{Scenario: "data-rate", Transport: "shm", Client: "go", Server: "go", Payload: 1000}

// streamed is a sample of so many seconds, with per[i%len(per)] messages in second i.
func streamed(round, seconds int, per ...int64) results.Sample {
	m := &results.Measurement{
		Loop: results.Open, WindowNs: int64(seconds) * second, Thirds: []int64{1, 1, 1}, Series: &results.Series{StepNs: second / 10},
		CPUNs: map[string]int64{results.Client: second},
	}
	for i := range seconds {
		n := per[i%len(per)]
		m.Ops += n
		for range 10 {
			m.Series.Received = append(m.Series.Received, n/10)
		}
		m.Series.RSS = append(m.Series.RSS, 50e6+int64(i)*2e6)
	}
	m.Messages, m.Sent, m.Received, m.PayloadBytes = m.Ops, m.Ops, m.Ops, 1000*m.Ops
	return results.Sample{Version: results.FormatVersion, Cell: stream.Key(), Round: round, Outcome: results.OK, Measurement: m}
}

func TestPeakAndSustained(t *testing.T) {
	for _, c := range []struct {
		name            string
		samples         []results.Sample
		peak, sustained string
	}{
		{"30 s", []results.Sample{streamed(0, 30, 100, 200, 300), streamed(1, 30, 200), streamed(2, 31, 200, 410, 200)}, "410", "200"},
		{"one is short", []results.Sample{streamed(0, 30, 100), streamed(1, 29, 200), streamed(2, 30, 100)}, "200", ""},
		{"below a second", []results.Sample{streamed(0, 0, 1), streamed(1, 0, 1), streamed(2, 0, 1)}, "", ""},
	} {
		for i := range c.samples { // a part of a second counts in neither
			m := c.samples[i].Measurement
			m.WindowNs += second / 2
			m.Series.Received = append(m.Series.Received, 10_000, 10_000, 10_000, 10_000, 10_000)
			m.Ops++
		}
		rows, err := rowsFrom(runOf(stream), c.samples)
		if err != nil {
			t.Fatal(err)
		}
		if r := rows[0]; r.PeakPerS.String() != c.peak || r.Sustained.String() != c.sustained {
			t.Errorf("%s: peak %q, sustained %q", c.name, r.PeakPerS, r.Sustained)
		}
	}
	rows, err := rowsFrom(runOf(stream), []results.Sample{streamed(0, 30, 100, 200, 300), streamed(1, 30, 200), streamed(2, 30, 200)})
	if err != nil {
		t.Fatal(err)
	}
	if r := rows[0]; r.RoutedPeak.OK() || r.RoutedSteady.OK() {
		t.Errorf("a router counts %s/s where there is none", r.RoutedPeak)
	}
	across := []results.Sample{streamed(0, 30, 100, 200, 300), streamed(1, 30, 200), streamed(2, 30, 200)}
	for _, s := range across {
		s.Measurement.Series.Routed = append([]int64{7}, s.Measurement.Series.Received[1:]...)
	}
	if rows, err = rowsFrom(runOf(stream), across); err != nil {
		t.Fatal(err)
	}
	if r := rows[0]; r.RoutedPeak.String() != "300" || r.RoutedSteady.String() != "200" {
		t.Errorf("the router counts %s/s at best and %s/s in the median", r.RoutedPeak, r.RoutedSteady)
	}
	if r := rows[0]; r.PeakMBPerS.String() != "0.3" || r.SustainedMB.String() != "0.2" || r.RSSSlope.String() != "2" {
		t.Errorf("%s and %s MB/s, resident size grows by %s MB/s", r.PeakMBPerS, r.SustainedMB, r.RSSSlope)
	}
}

func TestMinima(t *testing.T) {
	rows, err := rowsFrom(runOf(atMax), []results.Sample{measured(atMax, 0, 100, 9000), measured(atMax, 1, 100, 8000), measured(atMax, 2, 100, 9500)})
	if err != nil {
		t.Fatal(err)
	}
	if r := rows[0]; r.MinUs.String() != "8" || r.MinLo.String() != "8" || r.MinHi.String() != "9.5" {
		t.Errorf("min %s, from %s to %s", r.MinUs, r.MinLo, r.MinHi)
	}
}

// Steps give the ceiling and its note, and are none of the cell's samples.
func TestStepsAreNoSamples(t *testing.T) {
	samples := []results.Sample{streamed(0, 30, 200), streamed(1, 30, 200), streamed(2, 30, 200)}
	for i, x := range []results.Step{{Rate: 100, Holds: true}, {Rate: 100, Holds: true}, {Rate: 103}, {Rate: 103, Holds: true}, {Rate: 103}} {
		s := results.Sample{Version: results.FormatVersion, Cell: stream.Key(), Round: 3, Try: i, Outcome: results.Search, Step: &x}
		if !x.Holds {
			s.Reason = "delivered 0.9500 of the offer"
		}
		samples = append(samples, s)
	}
	run := runOf(stream)
	rows, err := rowsFrom(run, samples)
	if err != nil {
		t.Fatal(err)
	}
	if r := rows[0]; r.Verdict != results.Stable || r.Samples.String() != "3" || r.Ceiling.String() != "100" || r.CeilingFails.String() != "103" {
		t.Errorf("%s, %s samples, ceiling %s, fails at %s", r.Verdict, r.Samples, r.Ceiling, r.CeilingFails)
	}
	notes, err := notesFrom(run, samples)
	if err != nil {
		t.Fatal(err)
	}
	var text string
	for _, n := range notes {
		if n.Kind == NoteCeiling {
			text = n.Text + " " + n.Where()
		}
	}
	if want := "100/s held, 103/s did not (delivered 0.9500 of the offer); 2 rates in 5 tries samples.jsonl lines 4, 5, 6, 7, 8"; !strings.HasPrefix(text, want) {
		t.Errorf("%q, want %q", text, want)
	}
}
