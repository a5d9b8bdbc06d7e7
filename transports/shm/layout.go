package shm

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"msgbench/transports"
)

// The segment, all offsets in bytes from its start:
//
//	0                 header: magic, version, geometry (first 128 B of a page)
//	4096              control block of direction 0 (dialer to listener), 512 B
//	4608              control block of direction 1 (listener to dialer), 512 B
//	8192              slots of direction 0, then of direction 1: slots × 128 B each
//	after the slots   area of direction 0, then of direction 1
//
// Everything that two processes write stands at least 128 B apart, since the adjacent-line prefetcher moves pairs of
// 64 B lines.
const (
	magic       = 0x314d48534247534d // "MSGBSHM1", read as a little-endian word
	version     = 1
	headerBytes = 4096

	controlOffset = headerBytes
	controlBytes  = 512
	slotsOffset   = 2 * headerBytes

	slotBytes   = 128
	wordBytes   = 8                     // the header word at the start of each slot
	inlineBytes = slotBytes - wordBytes // largest message inside a slot; up to 56 B share the line of the header word
	lineBytes   = 64
	areaAlign   = lineBytes

	minSlots, maxSlots = 512, 1 << 16
	minArea, maxArea   = 1 << 20, 16 << 20
)

// Offsets inside a control block. The receiver writes its progress and both sleeping words may be written by either side,
// but only when one of them sleeps.
const (
	ctlReceiverSleeps = 0   // u32, futex word: 1 while the receiver sleeps for a message
	ctlConsumedSlots  = 128 // u64: slots given back, written by the receiver
	ctlConsumedBytes  = 136 // u64: area position given back, written by the receiver
	ctlSenderSleeps   = 256 // u32, futex word: 1 while the sender sleeps for room
)

// geometry is what the sizes of a segment follow from. Slots and area are powers of two, per direction.
type geometry struct {
	slots      uint64
	area       uint64
	maxMessage uint64
}

// newGeometry sizes a segment for messages of at most max bytes of which depth may be in flight.
func newGeometry(max, depth int) geometry {
	m := roundArea(uint64(max))
	g := geometry{maxMessage: uint64(max)}
	// An eighth of the slots may be consumed without having been given back.
	g.slots = clamp(pow2(uint64(depth)+uint64(depth)/4+2), minSlots, maxSlots)
	// Besides those in flight: one held by the receiver, one lost at the wrap, one for what is not yet given back.
	want := 4 * m
	if d := uint64(depth) + 3; depth > 1 && d*m > want {
		want = d * m
	}
	g.area = clamp(pow2(want), minArea, maxArea)
	return g
}

func (g geometry) size() uint64 { return slotsOffset + 2*g.slots*slotBytes + 2*g.area }

// control, ring and bytes are the offsets of direction dir's parts.
func (g geometry) control(dir int) uint64 { return controlOffset + uint64(dir)*controlBytes }
func (g geometry) ring(dir int) uint64    { return slotsOffset + uint64(dir)*g.slots*slotBytes }
func (g geometry) bytes(dir int) uint64 {
	return slotsOffset + 2*g.slots*slotBytes + uint64(dir)*g.area
}

// lag is how many consumed slots, and lagBytes how many consumed area bytes, a receiver may keep before it gives them
// back. Giving back costs a locked instruction and takes the line from a sender that waits for room.
func (g geometry) lag() uint64      { return g.slots / 8 }
func (g geometry) lagBytes() uint64 { return g.area / 16 }

// inFlight is how many messages of size bytes are sure to fit while nobody receives, whatever was received before.
func (g geometry) inFlight(size int) int {
	n := g.slots - g.lag() - 1
	if size > inlineBytes {
		each := roundArea(uint64(size))
		// The receiver may hold one message of any size and lagBytes beside it; the wrap may waste almost one message.
		lost := g.lagBytes() + roundArea(g.maxMessage) + each
		fit := uint64(0)
		if lost < g.area {
			fit = (g.area - lost) / each
		}
		n = min(n, fit)
	}
	return int(max(n, 1))
}

// put writes the header page; b has at least 64 bytes.
func (g geometry) put(b []byte) {
	e := binary.NativeEndian
	e.PutUint64(b[0:], magic)
	e.PutUint32(b[8:], version)
	e.PutUint32(b[12:], slotBytes)
	e.PutUint64(b[16:], g.size())
	e.PutUint64(b[24:], g.slots)
	e.PutUint64(b[32:], g.area)
	e.PutUint64(b[40:], g.maxMessage)
}

// parseGeometry reads a header written by the other side and checks it against the size of the segment in bytes.
// All errors are transports.ErrFrame.
func parseGeometry(b []byte, size int64) (geometry, error) {
	bad := func(what string, got uint64) (geometry, error) {
		return geometry{}, fmt.Errorf("shm: segment header: %s %#x: %w", what, got, transports.ErrFrame)
	}
	if len(b) < 64 {
		return bad("length", uint64(len(b)))
	}
	e := binary.NativeEndian
	if v := e.Uint64(b[0:]); v != magic {
		return bad("magic", v)
	}
	if v := e.Uint32(b[8:]); v != version {
		return bad("version", uint64(v))
	}
	if v := e.Uint32(b[12:]); v != slotBytes {
		return bad("slot size", uint64(v))
	}
	g := geometry{slots: e.Uint64(b[24:]), area: e.Uint64(b[32:]), maxMessage: e.Uint64(b[40:])}
	switch {
	case g.slots < minSlots || g.slots > maxSlots || g.slots&(g.slots-1) != 0:
		return bad("slot count", g.slots)
	case g.area < minArea || g.area > maxArea || g.area&(g.area-1) != 0:
		return bad("area size", g.area)
	case g.maxMessage > maxMessage || 2*roundArea(g.maxMessage) > g.area:
		return bad("largest message", g.maxMessage)
	case e.Uint64(b[16:]) != g.size():
		return bad("size", e.Uint64(b[16:]))
	case size < 0 || uint64(size) != g.size():
		return bad("file size", uint64(size))
	}
	return g, nil
}

// The header word of a slot: sequence number (message index + 1, 32 bits) in the upper half, then a tag of 8 bits and
// the length in bytes (24 bits). The tag is never 0, so an untouched slot is no message at any sequence number.
const (
	tagInline = 1 // the message follows the word
	tagArea   = 2 // a u64 area position follows the word
	lenBits   = 24
	lenMask   = 1<<lenBits - 1
	tagMask   = 0xff << lenBits
)

func word(index uint64, tag, n uint64) uint64 {
	return uint64(uint32(index+1))<<32 | tag<<lenBits | n
}

// fresh tells whether w is the header word of message index.
func fresh(w, index uint64) bool { return uint32(w>>32) == uint32(index+1) }

// stale tells whether w is what may stand in the slot of message index before that message: the word of the lap before,
// or zero in the first lap.
func stale(w, index, slots uint64) bool {
	if index < slots {
		return w == 0
	}
	return uint32(w>>32) == uint32(index-slots+1)
}

// place decodes the low half of a fresh word. n is the length; inArea says that the message stands in the area.
func (g *geometry) place(w uint64) (n uint64, inArea, ok bool) {
	n = w & lenMask
	switch uint8(w >> lenBits) {
	case tagInline:
		return n, false, n <= inlineBytes
	case tagArea:
		return n, true, n > inlineBytes && n <= g.maxMessage
	}
	return 0, false, false
}

// at is where a message of n bytes begins in the area if the message before ended at position pos. Positions only grow;
// the offset is the position modulo the area. A message is never split: one that does not fit before the end of the
// area begins at its start.
func (g geometry) at(pos, n uint64) uint64 {
	if off := pos & (g.area - 1); off+n > g.area {
		return pos + g.area - off
	}
	return pos
}

func roundArea(n uint64) uint64        { return (n + areaAlign - 1) &^ (areaAlign - 1) }
func clamp(n, low, high uint64) uint64 { return min(max(n, low), high) }

// pow2 is the smallest power of two that is at least n.
func pow2(n uint64) uint64 { return 1 << bits.Len64(n-1) }
