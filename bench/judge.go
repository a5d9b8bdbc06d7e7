package bench

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"msgbench/results"
)

// join adds to the driver's measurement what the other processes know of themselves in the same window.
func join(m *results.Measurement, others []*results.Measurement) error {
	if m.Facts == nil {
		m.Facts = map[string]string{}
	}
	for _, o := range others {
		m.ClockErrorNs = max(m.ClockErrorNs, o.ClockErrorNs)
		for _, f := range []struct{ into, from *map[string]int64 }{
			{&m.GC, &o.GC}, {&m.Mallocs, &o.Mallocs}, {&m.RSS, &o.RSS},
		} {
			if *f.into == nil {
				*f.into = map[string]int64{}
			}
			for role, v := range *f.from {
				(*f.into)[role] += v // several processes of one role are added up
			}
		}
		for k, v := range o.Facts {
			if own, ok := m.Facts[k]; !ok || own != v {
				m.Facts["server."+k] = v
			}
		}
	}
	return m.Check()
}

// minWindow is how much of the window that was asked for a measurement must cover; one that ends with the last message
// received may be somewhat shorter.
const minWindow = 0.9

// asked says where a measurement is not one of the window and the loop that its worker was asked for.
func asked(m *results.Measurement, cell results.Cell, p results.Policy) error {
	if want := Window(p, cell); p.Count == 0 && float64(m.WindowNs) < minWindow*float64(want) {
		return fmt.Errorf("a window of %s, where %s was asked for", time.Duration(m.WindowNs), want)
	}
	if cell.Rate > 0 && m.Lateness.Count() == 0 {
		return errors.New("a fixed rate without the sender's own lateness: nobody knows whether the schedule was kept")
	}
	return nil
}

// own says where a process gives figures of others, or words that would not stand on one line of a table.
func own(m *results.Measurement, role string) error {
	for _, figures := range []map[string]int64{m.GC, m.Mallocs, m.RSS} {
		for r, v := range figures {
			if r != role || v < 0 {
				return fmt.Errorf("it tells %d of the %s, want figures of itself, and none below 0", v, r)
			}
		}
	}
	if len(m.Receivers) > 0 || m.Series != nil && m.Series.Routed != nil {
		return errors.New("it tells what only the runner, or a process in the middle, can know")
	}
	for k, v := range m.Facts {
		if k == "" || len(k) > maxFact || len(v) > maxFact || !isPlain(k) || !isPlain(v) || strings.HasPrefix(k, "server.") {
			return fmt.Errorf("the fact %q=%q: want words of 1 to %d characters on one line", shorten(k, 40), shorten(v, 40), maxFact)
		}
	}
	return nil
}

// maxFact is the longest name or value of a fact in bytes.
const maxFact = 200

func isPlain(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

// possible says what can't be true of a window that ended so long after all were started: it holds no more time, and no role
// can have had more of the CPUs than mostCPU. It allows for nothing else, since a busy machine delays what the runner sees.
func possible(m *results.Measurement, cell results.Cell, mostCPU map[string]time.Duration, took time.Duration) error {
	if m.WarmupNs < 0 || m.WarmupOps < 0 || m.ClockErrorNs < 0 || m.RequestBytes < 0 || m.ResponseBytes < 0 {
		return errors.New("warmup_ns, warmup_ops, clock_error_ns, request_bytes and response_bytes: want 0 or more")
	}
	if m.WarmupNs > int64(took) || m.WindowNs > int64(took)-m.WarmupNs {
		return fmt.Errorf("a warm-up of %s and a window of %s, but done came %s after start", time.Duration(m.WarmupNs), time.Duration(m.WindowNs), took)
	}
	for role, ns := range m.CPUNs {
		most, ok := mostCPU[role]
		if !ok {
			return fmt.Errorf("cpu_ns of the %s, which this cell has not", role)
		}
		if ns > int64(most) {
			return fmt.Errorf("the %s used %s of CPU time, want at most %s", role, time.Duration(ns), most)
		}
	}
	if m.Hops < 0 || m.Hops > 1 && !Brokered(cell) {
		return fmt.Errorf("hops is %d, want 1 where nobody is in the middle", m.Hops)
	}
	return nil
}

// The limits beyond which a sample is not one of what was asked for. They look at the loop's own timing and at the shape
// of the window, never at how good the result is.
const (
	lateFloor     = 100 * time.Microsecond
	latePart      = 10 // of the interval: a tenth
	lateQuantile  = 0.99
	shortThird    = 3 * time.Millisecond
	maxRejections = 2 // times a sample is measured again in its round
)

// judge sets the outcome of a sample that ran to its end.
func judge(s *results.Sample, cell results.Cell, p results.Policy) {
	s.Outcome = results.OK
	if reason := late(s.Measurement, cell.Rate, lateFloor); reason != "" {
		s.Outcome, s.Reason = results.Rejected, reason
		return
	}
	if reason := ramp(s.Measurement, cell.Rate, p.MaxRamp, p.Count > 0); reason != "" {
		s.Outcome, s.Reason = results.Rejected, reason
	}
}

// late says whether our own pacing was too late to call this the rate that was asked for: by more than a part of the
// interval, and than floor.
func late(m *results.Measurement, rate int, floor time.Duration) string {
	if rate == 0 || m.Lateness == nil || m.Lateness.Count() == 0 {
		return ""
	}
	limit := max(floor, lateFloor, time.Second/time.Duration(rate)/latePart)
	v, ok := m.Lateness.Quantile(lateQuantile)
	if !ok { // too few operations for this percentile: the latest one stands for it
		v, _ = m.Lateness.Max()
	}
	if time.Duration(v) > limit {
		return fmt.Sprintf("schedule not kept: own lateness p99 %s > %s", time.Duration(v), limit)
	}
	return ""
}

// ramp says whether the window's last third differs from its first too much to call it steady.
func ramp(m *results.Measurement, rate int, limit float64, counted bool) string {
	if len(m.Thirds) != 3 {
		return ""
	}
	first, last := float64(m.Thirds[0]), float64(m.Thirds[2])
	if rate > 0 && math.Abs(first-last) <= 2 && !counted {
		return "" // at a low rate a third holds few operations, give or take one at each end
	}
	if len(m.ThirdsNs) == 3 {
		if slices.Min(m.ThirdsNs) < int64(shortThird) && counted {
			return "" // one pause of a thread is longer than that
		}
		// Thirds of a number of operations differ in time, not in number.
		first, last = first*1e6/float64(max(m.ThirdsNs[0], 1)), last*1e6/float64(max(m.ThirdsNs[2], 1))
	}
	if first > 0 && last > 0 && last/first <= limit && first/last <= limit {
		return ""
	}
	if first == 0 {
		return "ramp: no operation in the first third of the window"
	}
	return fmt.Sprintf("ramp: last third / first third of the window = %.2f", last/first)
}
