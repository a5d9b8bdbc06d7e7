package shm

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"msgbench/transports"
)

// TestLayout holds the numbers that docs/wire-shm.md gives to other implementers.
func TestLayout(t *testing.T) {
	g := newGeometry(transports.DefaultMaxMessage, 1)
	for _, c := range []struct {
		what      string
		got, want uint64
	}{
		{"slots", g.slots, 512},
		{"area", g.area, 1 << 20},
		{"control block 0", g.control(0), 4096},
		{"control block 1", g.control(1), 4608},
		{"slots 0", g.ring(0), 8192},
		{"slots 1", g.ring(1), 8192 + 65536},
		{"area 0", g.bytes(0), 8192 + 2*65536},
		{"area 1", g.bytes(1), 8192 + 2*65536 + 1<<20},
		{"segment", g.size(), 8192 + 2*65536 + 2<<20},
		{"first inline word", word(0, tagInline, 40), 1<<32 | 1<<24 | 40},
		{"area word", word(513, tagArea, 4096), 514<<32 | 2<<24 | 4096},
		{"area for 4 MiB", newGeometry(4<<20, 16).area, 16 << 20},
	} {
		if c.got != c.want {
			t.Errorf("%s: %d, want %d", c.what, c.got, c.want)
		}
	}
	b := make([]byte, 64)
	g.put(b)
	if !bytes.HasPrefix(b, []byte("MSGBSHM1")) && binary.NativeEndian.Uint16([]byte{1, 0}) == 1 {
		t.Errorf("magic %q", b[:8])
	}
}

// TestNoFalseSharing: two words that different processes write while both run stand at least 128 B apart, and so do the
// slots.
func TestNoFalseSharing(t *testing.T) {
	words := []int{
		headerBytes - 1, // the header is not written, but read
		controlOffset + ctlReceiverSleeps,
		controlOffset + ctlConsumedSlots, // with ctlConsumedBytes: the same writer
		controlOffset + ctlSenderSleeps,
		controlOffset + controlBytes + ctlReceiverSleeps,
		controlOffset + controlBytes + ctlConsumedSlots,
		controlOffset + controlBytes + ctlSenderSleeps,
		slotsOffset,
		slotsOffset + slotBytes,
	}
	for i := 1; i < len(words); i++ {
		if words[i]/128 == words[i-1]/128 {
			t.Errorf("bytes %d and %d stand in the same pair of lines", words[i-1], words[i])
		}
	}
	if ctlConsumedBytes/64 != ctlConsumedSlots/64 {
		t.Error("the two counters of the receiver stand on different lines")
	}
}

func TestGeometry(t *testing.T) {
	for _, max := range []int{0, 1, 120, 121, 65536, 65537, 1 << 20, 4 << 20, maxMessage} {
		for _, depth := range []int{1, 2, 16, 512, 10000, 1 << 30} {
			g := newGeometry(max, depth)
			b := make([]byte, 64)
			g.put(b)
			got, err := parseGeometry(b, int64(g.size()))
			if err != nil || got != g {
				t.Errorf("newGeometry(%d, %d) = %+v is read as %+v, %v", max, depth, g, got, err)
			}
			if d := min(depth, 10000); g.inFlight(40) < d {
				t.Errorf("newGeometry(%d, %d): %d messages of 40 B in flight", max, depth, g.inFlight(40))
			}
		}
	}
	if g := newGeometry(65536, 16); g.inFlight(65536) < 16 {
		t.Errorf("64 KiB at depth 16: only %d in flight", g.inFlight(65536))
	}
}

// FuzzHeader: whatever stands in the header, a geometry that is accepted stays inside the file.
func FuzzHeader(f *testing.F) {
	b := make([]byte, 64)
	g := newGeometry(65536, 1)
	g.put(b)
	f.Add(b, int64(g.size()))
	f.Add(b[:10], int64(1))
	f.Fuzz(func(t *testing.T, b []byte, size int64) {
		g, err := parseGeometry(b, size)
		if err != nil {
			if !errors.Is(err, transports.ErrFrame) {
				t.Errorf("error %v is not ErrFrame", err)
			}
			return
		}
		if g.bytes(1)+g.area != uint64(size) || g.ring(1) < g.ring(0) || 2*g.maxMessage > g.area || g.maxMessage > lenMask {
			t.Errorf("accepted %+v for %d B", g, size)
		}
	})
}

// FuzzSlot: whatever stands in a slot, what is accepted lies inside the slot or the area.
func FuzzSlot(f *testing.F) {
	f.Add(word(0, tagInline, 40), uint64(0), uint64(0))
	f.Add(word(7, tagArea, 4096), uint64(7), uint64(1<<20-64))
	f.Fuzz(func(t *testing.T, w, index, pos uint64) {
		g := newGeometry(65536, 1)
		pos = roundArea(pos % (1 << 60))
		if w&tagMask == 0 {
			return // not yet a message: await decides by stale
		}
		if fresh(w, index) && stale(w, index, g.slots) {
			t.Fatalf("word %#x is both fresh and stale at %d", w, index)
		}
		n, inArea, ok := g.place(w)
		switch {
		case !ok:
		case !inArea && n > inlineBytes:
			t.Errorf("word %#x: %d B in a slot", w, n)
		case inArea:
			at := g.at(pos, n)
			if off := at % g.area; n > g.maxMessage || off+n > g.area || at < pos || at-pos >= g.area {
				t.Errorf("word %#x at %d: %d B at %d", w, pos, n, at)
			}
		}
	})
}
