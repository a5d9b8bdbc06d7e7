package scenarios

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"msgbench/measure"
	"msgbench/results"
)

func TestTrackerLossless(t *testing.T) {
	for _, c := range []struct {
		seqs []uint64
		text string
	}{
		{[]uint64{5, 6, 7}, ""},
		{[]uint64{5, 6, 6}, "message 6 came twice"},
		{[]uint64{5, 7}, "message 7 came where 6 was expected: 1 lost"},
		{[]uint64{5, 6, 4}, "message 4 came late: 7 was expected"},
	} {
		var tr tracker
		tr.begin(5)
		var err error
		for _, s := range c.seqs {
			if err == nil {
				err = tr.see(s)
			}
		}
		if c.text == "" {
			if err = tr.end(8); err != nil || tr.received != 3 {
				t.Errorf("%v: %d received, %v", c.seqs, tr.received, err)
			}
			if err := tr.end(9); err == nil {
				t.Error("a lost last message was not noticed")
			}
			continue
		}
		if err == nil || err.Error() != c.text {
			t.Errorf("%v: %v, want %q", c.seqs, err, c.text)
		}
	}
}

func TestTrackerLossy(t *testing.T) {
	for _, c := range []struct {
		name                                  string
		seqs                                  []uint64
		after                                 uint64
		received, lost, duplicated, reordered int64
	}{
		{"in order", []uint64{1, 2, 3}, 4, 3, 0, 0, 0},
		{"gap", []uint64{1, 4, 5}, 6, 3, 2, 0, 0},
		{"first and last lost", []uint64{3, 4}, 7, 2, 4, 0, 0},
		{"all lost", nil, 4, 0, 3, 0, 0},
		{"late", []uint64{1, 3, 2, 4}, 5, 4, 0, 0, 1},
		{"twice", []uint64{1, 2, 2, 1, 3}, 4, 3, 0, 2, 0},
		{"late, then again", []uint64{1, 3, 2, 2}, 4, 3, 0, 1, 1},
		{"from before", []uint64{0, 1}, 2, 1, 0, 1, 0},
		{"late beyond recall", []uint64{1, 2 * seenBits, 2}, 2*seenBits + 1, 2, 2*seenBits - 2, 1, 0},
	} {
		tr := tracker{lossy: true}
		tr.begin(1)
		for _, s := range c.seqs {
			if err := tr.see(s); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		}
		if err := tr.end(c.after); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if tr.received != c.received || tr.lost != c.lost || tr.duplicated != c.duplicated || tr.reordered != c.reordered {
			t.Errorf("%s: received %d, lost %d, duplicated %d, reordered %d", c.name, tr.received, tr.lost, tr.duplicated, tr.reordered)
		}
	}
	tr := tracker{lossy: true}
	tr.begin(1)
	if tr.see(9); tr.end(5) == nil {
		t.Error("a message that was never sent passed")
	}
}

// Whatever a link within the tracker's memory does, the counts are those of the sets.
func TestTrackerAgainstSets(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		sent := 1 + random.IntN(3*seenBits)
		var link []uint64
		came := map[uint64]bool{}
		var lost, twice int64
		for s := 1; s <= sent; s++ {
			switch random.IntN(10) {
			case 0:
				lost++
				continue
			case 1:
				link = append(link, uint64(s))
				twice++
			}
			link = append(link, uint64(s))
			came[uint64(s)] = true
		}
		for i := range link { // a little out of order
			if j := i + random.IntN(20); random.IntN(5) == 0 && j < len(link) {
				link[i], link[j] = link[j], link[i]
			}
		}
		tr := tracker{lossy: true}
		tr.begin(1)
		for _, s := range link {
			tr.see(s)
		}
		if err := tr.end(uint64(sent) + 1); err != nil {
			t.Fatal(err)
		}
		if tr.received != int64(len(came)) || tr.lost != lost || tr.duplicated != twice || tr.received+tr.lost != int64(sent) {
			t.Fatalf("%d sent: received %d of %d, lost %d of %d, duplicated %d of %d",
				sent, tr.received, len(came), tr.lost, lost, tr.duplicated, twice)
		}
	}
}

func TestOneWayLatencies(t *testing.T) {
	const start = 1_000_000
	o := newOneWay(1000, 1, 2) // the second of two senders: operations 1, 3, 5, …
	o.begin(start, 10)
	due := measure.Schedule{Start: start, Rate: 1000}.At(3)
	if err := o.record(11, due+50, due+170); err != nil {
		t.Fatal(err)
	}
	m := &results.Measurement{}
	o.fill(m)
	if got, _ := m.Latency.Max(); got != 170 {
		t.Errorf("response %d ns, want 170", got)
	}
	if got, _ := m.Service.Max(); got != 120 {
		t.Errorf("service %d ns, want 120", got)
	}
	if m.LatencyKind != results.OneWay {
		t.Error(m.LatencyKind)
	}
	for name, err := range map[string]error{
		"received before sent":  o.record(12, due+3e6, due+3e6-1),
		"sent before it is due": o.record(12, due+1e6, due+3e6),
	} {
		if !errors.Is(err, errClocks) || !strings.HasPrefix(err.Error(), "the clocks of the two sides do not agree: message 12") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOneWayNeedsOneTime(t *testing.T) {
	if err := sameTime(1, 1); err != nil {
		t.Error(err)
	}
	if err := sameTime(4026531834, 4026532200); err == nil || !strings.Contains(err.Error(), "time namespaces") {
		t.Error(err)
	}
}

func TestCheckDataComparesEveryByte(t *testing.T) {
	for _, payload := range []int{0, 1, 7, 8, 9, 64, 10_000, 70_000} {
		m, own := newCounterMessage(payload), newCounterMessage(payload)
		m.put(7)
		putEnvelope(m, 7, 1234, kindData)
		if seq, stamp, err := own.checkData(m); err != nil || seq != 7 || stamp != 1234 {
			t.Errorf("%d B: %d, %d, %v", payload, seq, stamp, err)
		}
		for i := envelope; i < len(m); i += max(1, len(m)/777) {
			m[i] ^= 1
			if _, _, err := own.checkData(m); err == nil {
				t.Errorf("%d B: byte %d was spoiled, and nobody noticed", payload, i)
			}
			m[i] ^= 1
		}
	}
}

func TestOneWayDoesNotAllocate(t *testing.T) {
	m, own := newCounterMessage(64), newCounterMessage(64)
	o := newOneWay(1_000_000, 0, 1)
	o.begin(0, 1)
	tr := tracker{lossy: true}
	tr.begin(1)
	next := uint64(1)
	if n := testing.AllocsPerRun(100, func() {
		m.put(next)
		putEnvelope(m, next, int64(next)*2000, kindData)
		seq, stamp, err := own.checkData(m)
		if err == nil {
			err = tr.see(seq)
		}
		if err == nil {
			err = o.record(seq, stamp, stamp+500)
		}
		if err != nil {
			t.Error(err)
		}
		next++
	}); n != 0 {
		t.Errorf("%v allocations a message", n)
	}
}
