package areg

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"msgbench/results"
)

const head = "# Run #1: mode=pp64, stop=count, count=%d, warmup=1\n# Min: 1.00 us\n" + header + "\n"

func cell(scenario string, payload int) results.Cell {
	return results.Cell{Scenario: scenario, Transport: Name, Client: Name, Server: Name, Payload: payload}
}

func TestReadSamples(t *testing.T) {
	file := fmt.Sprintf(head, 3) + "1,pp64,1000,1400,2000,1000,1.000\n2,pp64,2010,2400,4010,2000,2.000\r\n3,pp64,4020,5000,7020,3000,3.000\n"
	s, err := ReadSamples(strings.NewReader(file), "pp64")
	if err != nil {
		t.Fatal(err)
	}
	if s.First != 1000 || !slices.Equal(s.Ends, []int64{2000, 4010, 7020}) || s.Step != 1000 || s.Latency.Count() != 3 || s.Between.Count() != 2 {
		t.Errorf("%+v", s)
	}
	m := s.Measurement(cell("ping-pong", 64), 40, true)
	if m.WindowNs != 6020 || m.Ops != 3 || !slices.Equal(m.Thirds, []int64{1, 1, 1}) || !slices.Equal(m.ThirdsNs, []int64{1000, 2010, 3010}) ||
		m.RequestBytes != 204 || m.ResponseBytes != 212 || m.Loop != results.Closed || m.ClockErrorNs != 0 {
		t.Errorf("%+v", m)
	}
	if err := m.Check(); err != nil {
		t.Error(err)
	}
	// By time: thirds end at 3006, 5013 and 7020.
	if m = s.Measurement(cell("ping-pong", 64), 40, false); !slices.Equal(m.Thirds, []int64{1, 1, 1}) || !slices.Equal(m.ThirdsNs, []int64{2006, 2007, 2007}) {
		t.Errorf("by time: %v %v", m.Thirds, m.ThirdsNs)
	}
}

func TestOneWay(t *testing.T) {
	file := header + "\n1,bc0,256,0,1280,1024,1.024\n2,bc0,1792,0,2048,256,0.256\n"
	s, err := ReadSamples(strings.NewReader(file), "bc0")
	if err != nil {
		t.Fatal(err)
	}
	// What is rounded to 256 ns is not known better, whatever the clock can do.
	m := s.Measurement(cell("broadcast", 0), 40, true)
	if s.Step != 256 || m.ClockErrorNs != 256 || m.LatencyKind != results.OneWay || m.RequestBytes != 140 || m.ResponseBytes != 0 || len(m.Receivers) != 1 {
		t.Errorf("step %d, %+v", s.Step, m)
	}
}

// TestPauses: between operations a loop of ours does next to nothing; one that sleeps is told by its gaps.
func TestPauses(t *testing.T) {
	for _, c := range []struct {
		mode, scenario string
		latency, gap   int64
		loop           string
	}{
		{"pp8", "ping-pong", 50_000, 200, results.Closed},
		{"pp8", "ping-pong", 50_000, 24_000, results.Closed},
		{"pp8", "ping-pong", 50_000, 60_000, results.Pausing},
		{"bc8", "broadcast", 50_000, 55_000, results.Closed}, // the request for the next
		{"bc8", "broadcast", 10_000, 71_000, results.Pausing},
	} {
		var b strings.Builder
		b.WriteString(header + "\n")
		at := int64(1)
		for i := range 100 {
			fmt.Fprintf(&b, "%d,%s,%d,%d,%d,%d,0.0\n", i+1, c.mode, at, at+1, at+c.latency, c.latency)
			at += c.latency + c.gap
		}
		s, err := ReadSamples(strings.NewReader(b.String()), c.mode)
		if err != nil {
			t.Fatal(err)
		}
		if m := s.Measurement(cell(c.scenario, 8), 0, true); m.Loop != c.loop {
			t.Errorf("%s, %d ns and %d ns between: %s, want %s", c.scenario, c.latency, c.gap, m.Loop, c.loop)
		}
	}
}

func TestBadSamples(t *testing.T) {
	const first = "1,pp64,1000,1400,2000,1000,1.000\n"
	for _, c := range []struct{ file, want string }{
		{"", "samples.csv is empty"},
		{"# only\n", "samples.csv is empty"},
		{header + "\n", "samples.csv has no samples"},
		{"a,b\n", `samples.csv:1: columns "a,b", want "` + header + `": another version of areg-sdk?`},
		{header, "samples.csv:1: the line is cut off"},
		{header + "\n" + first + "2,pp64,2", "samples.csv:3: the line is cut off"},
		{header + "\n" + first + "2,pp64\n", "samples.csv:3: 2 fields, want 7"},
		{header + "\n" + "1,pp8,1000,1400,2000,1000,1.000\n", `samples.csv:2: mode "pp8", asked for "pp64"`},
		{header + "\n" + "1,pp64,x,1400,2000,1000,1.000\n", `samples.csv:2: "x" is not a number`},
		{header + "\n" + "1,pp64,99999999999999999999,1400,2000,1000,1.000\n", `is not a number`},
		{header + "\n" + "1,pp64,3000,3100,2000,-1000,1.000\n", "samples.csv:2: sent at 3000, there at 2000: the clocks do not agree"},
		{header + "\n" + "1,pp64,0,1400,2000,2000,1.000\n", "the clocks do not agree"},
		{header + "\n" + "1,pp64,1000,900,2000,1000,1.000\n", "answered at 900, not between 1000 and 2000"},
		{header + "\n" + "1,pp64,1000,1400,2000,999,1.000\n", "rtt_ns is 999, t4_ns − t1_ns is 1000"},
		{header + "\n" + first + "2,pp64,1500,1600,2500,1000,1.000\n", "sent at 1500, before the last one was there (2000): more than one in flight"},
		{header + "\n" + "2,pp64,1000,1400,2000,1000,1.000\n", "1 samples are missing, 0 there twice, 0 out of place"},
		{header + "\n" + first + "1,pp64,2000,2400,3000,1000,1.000\n", "0 samples are missing, 1 there twice, 0 out of place"},
		{header + "\n" + first + "3,pp64,2000,2400,3000,1000,1\n2,pp64,3000,3400,4000,1000,1\n", "1 samples are missing, 0 there twice, 1 out of place"},
		{"# count=2\n" + header + "\n" + first, "samples.csv has 1 samples, its head says 2"},
		{"# count=x\n" + header + "\n" + first, `samples.csv:1: count="x" is not a number`},
		{header + "\n" + strings.Repeat("1", 5000) + "\n", "samples.csv:2: a line of more than 1024 bytes"},
		{header + "\n" + strings.Repeat("1", 2<<20), "samples.csv:2: a line of more than 1024 bytes"},
	} {
		_, err := ReadSamples(strings.NewReader(c.file), "pp64")
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.80q: %v, want %s", c.file, err, c.want)
		}
	}
}

// FuzzReadSamples: whatever is read as samples is a sound measurement.
func FuzzReadSamples(f *testing.F) {
	f.Add(header+"\n1,pp64,1000,1400,2000,1000,1.000\n2,pp64,2010,2400,4010,2000,2.000\n", true)
	f.Add("# count=1\n"+header+"\n1,pp64,1,1,1,0,0\n", false)
	f.Fuzz(func(t *testing.T, file string, counted bool) {
		s, err := ReadSamples(strings.NewReader(file), "pp64")
		if err != nil {
			return
		}
		m := s.Measurement(cell("ping-pong", 64), 0, counted)
		if m.WindowNs == 0 { // a measurement of no time is refused by Check
			return
		}
		if err := m.Check(); err != nil {
			t.Error(err)
		}
		if n := m.Thirds[0] + m.Thirds[1] + m.Thirds[2]; n != m.Ops || m.Latency.Count() != m.Ops {
			t.Errorf("%d operations, thirds %v, %d latencies", m.Ops, m.Thirds, m.Latency.Count())
		}
	})
}
