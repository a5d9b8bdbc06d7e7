package cli

import (
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"msgbench/bench"
	"msgbench/results"
	"msgbench/stability"
)

// screen is a terminal that knows what view writes: text, line feed, carriage return, up, and wiping.
type screen struct {
	width  int
	rows   [][]rune
	y, x   int
	writes int
}

var escape = regexp.MustCompile(`^\x1b\[([0-9]*)([A-Za-z])`)

func (s *screen) row(y int) []rune {
	for len(s.rows) <= y {
		s.rows = append(s.rows, nil)
	}
	return s.rows[y]
}

func (s *screen) Write(b []byte) (int, error) {
	s.writes++
	for text := string(b); text != ""; {
		if m := escape.FindStringSubmatch(text); m != nil {
			n, _ := strconv.Atoi(m[1])
			switch m[2] {
			case "A":
				s.y = max(s.y-max(n, 1), 0)
			case "K":
				s.rows[s.y] = s.row(s.y)[:min(s.x, len(s.row(s.y)))]
			case "J":
				s.rows[s.y] = s.row(s.y)[:min(s.x, len(s.row(s.y)))]
				s.rows = s.rows[:s.y+1]
			}
			text = text[len(m[0]):]
			continue
		}
		r := []rune(text)[0]
		text = text[len(string(r)):]
		switch r {
		case '\r':
			s.x = 0
		case '\n':
			s.y, s.x = s.y+1, 0
			s.row(s.y)
		default:
			if s.x == s.width {
				s.y, s.x = s.y+1, 0
			}
			row := s.row(s.y)
			for len(row) <= s.x {
				row = append(row, ' ')
			}
			row[s.x] = r
			s.rows[s.y] = row
			s.x++
		}
	}
	return len(b), nil
}

// resize wraps rows as terminals do. The cursor stands at the start of the last one.
func (s *screen) resize(width int) {
	var rows [][]rune
	for _, r := range s.rows {
		for len(r) > width {
			rows, r = append(rows, r[:width]), r[width:]
		}
		rows = append(rows, r)
	}
	s.rows, s.width, s.y = rows, width, len(rows)-1
}

func (s *screen) String() string {
	var lines []string
	for _, r := range s.rows {
		lines = append(lines, strings.TrimRight(string(r), " "))
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

func testView(s *screen, height int) (*view, []results.Cell) {
	v := &view{w: s, size: func() (int, int) { return s.width, height }}
	c := chosen{policy: results.DefaultPolicy()}
	c.suite.Name = "quick"
	for _, t := range []string{"shm", "uds", "tcp"} {
		c.cells = append(c.cells, results.Cell{Scenario: "ping-pong", Transport: t, Client: "go", Server: "go", Payload: 64})
	}
	v.begin(c, howRun)
	v.round(bench.RoundInfo{Of: 5, Cells: 3})
	return v, c.cells
}

func okSample(c results.Cell, ops int64) results.Sample {
	return results.Sample{Cell: c.Key(), Outcome: results.OK, Measurement: &results.Measurement{Ops: ops, WindowNs: 1e9}}
}

func TestView(t *testing.T) {
	s := &screen{width: 90}
	s.Write([]byte("before\n"))
	v, cells := testView(s, 24)
	for round := range 3 {
		v.round(bench.RoundInfo{Number: round, Of: 5, Cells: 3})
		for i, c := range cells {
			v.before(c, round*3+i, 15, 90*time.Second)
			v.after(okSample(c, int64(1000*(1+i*round))))
		}
	}
	v.before(cells[1], 9, 15, 61*time.Second)
	want := `before
quick · round 3 of 5 · sample 10 of 15 · 1m1s left
` + strings.Repeat("█", 36) + strings.Repeat("░", 24) + `  60 %
now     ping-pong/uds/go-go/64B/max
so far  1 holds · 2 loose
        ping-pong/tcp/go-go/64B/max  5000/s  [loose, core 5.00]
        ping-pong/uds/go-go/64B/max  3000/s  [loose, core 3.00]
        ping-pong/shm/go-go/64B/max  1000/s  [holds, core 1.00]
        ping-pong/tcp/go-go/64B/max  3000/s
        ping-pong/uds/go-go/64B/max  2000/s
        ping-pong/shm/go-go/64B/max  1000/s
        ping-pong/tcp/go-go/64B/max  1000/s
        ping-pong/uds/go-go/64B/max  1000/s`
	if got := s.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	// How precise cells are has a line of its own.
	v.policy.Precision = 0.03
	v.width(stability.Width{Samples: 6, Throughput: 0.021, P50: 0.03, Timed: true})
	if got := s.String(); !strings.Contains(got, "\nprecise 1 of 3 within ±3 % · last by 6 samples: throughput ±2.1 %, p50 ±3 %\n") {
		t.Errorf("got\n%s", got)
	}
	v.precise = ""
	// A failure stays; a narrower terminal has wrapped the picture, which is taken away whole all the same.
	s.resize(40)
	v.after(results.Sample{Cell: cells[1].Key(), Outcome: results.Failed, Reason: "server ended"})
	v.before(cells[2], 10, 15, time.Minute)
	got := s.String()
	if n := strings.Count(got, "sample "); n != 1 || !strings.HasPrefix(got, "before\nfailed: ping-pong/uds/go-go/64B/max: ser\nver ended\nquick") {
		t.Errorf("%d pictures:\n%s", n, got)
	}
	for i, line := range strings.Split(got, "\n")[3:] {
		if len([]rune(line)) > 39 {
			t.Errorf("line %d is %d wide: %q", i, len([]rune(line)), line)
		}
	}
	v.clear()
	if got := s.String(); got != "before\nfailed: ping-pong/uds/go-go/64B/max: ser\nver ended" {
		t.Errorf("after the end:\n%s", got)
	}
}

// On any terminal the picture leaves a line for the cursor, and no line fills the last column.
func TestViewFits(t *testing.T) {
	for _, width := range []int{2, 10, 20, 40, 80, 200} {
		for _, height := range []int{1, 2, 3, 4, 5, 8, 24, 60} {
			s := &screen{width: width}
			v, cells := testView(s, height)
			for range 20 {
				v.before(cells[0], 0, 15, time.Minute)
				v.after(okSample(cells[0], 1000))
			}
			rows := strings.Split(s.String(), "\n")
			if len(rows) > max(height-1, 1) {
				t.Errorf("%d×%d: %d rows\n%s", width, height, len(rows), s)
			}
		}
	}
}

// Nothing is drawn between the start of a sample and its end, and nothing of ours could be: there is no goroutine.
func TestViewRestsInWindows(t *testing.T) {
	s := &screen{width: 80}
	before := runtime.NumGoroutine()
	v, cells := testView(s, 24)
	v.before(cells[0], 0, 15, time.Minute)
	drawn := s.writes
	time.Sleep(50 * time.Millisecond)
	if s.writes != drawn || runtime.NumGoroutine() > before {
		t.Errorf("%d writes in a window, %d goroutines more", s.writes-drawn, runtime.NumGoroutine()-before)
	}
}
