package shm

import (
	"fmt"
	"io"
	"sync/atomic"
	"syscall"
	"unsafe"

	"msgbench/transports"
)

// errGone is what Send returns once the peer has closed or died.
var errGone = fmt.Errorf("shm: the peer has closed: %w", syscall.EPIPE)

// sender is the writing end of one direction. All of its counters are private to this process; what the receiver has
// given back is read from the segment only when the ring looks full.
type sender struct {
	slots unsafe.Pointer // first slot
	mask  uint64         // slot count - 1
	next  uint64         // index of the next message
	full  uint64         // the next message at which the ring may be full: slots given back + slot count
	geo   geometry

	peerSleeps    *uint32
	state         *atomic.Uint32
	area          unsafe.Pointer
	pos           uint64 // area position after the last message
	freed         uint64 // area position given back, as last read
	consumed      *uint64
	consumedBytes *uint64
	wait          waiter
}

// receiver is the reading end of one direction.
type receiver struct {
	slots     unsafe.Pointer
	mask      uint64
	next      uint64 // index of the message to come
	releaseAt uint64 // next reaching this gives back
	released  uint64 // slots given back
	geo       geometry

	state         *atomic.Uint32
	area          unsafe.Pointer
	pos           uint64 // area position after the last message
	releasedPos   uint64
	consumed      *uint64
	consumedBytes *uint64
	peerSleeps    *uint32
	wait          waiter
}

func newSender(s segment, dir int, mode transports.Wait, state *atomic.Uint32) sender {
	g, ctl := s.geo, s.geo.control(dir)
	return sender{
		slots: unsafe.Add(s.base, g.ring(dir)), mask: g.slots - 1, full: g.slots, geo: g,
		peerSleeps: s.u32(ctl + ctlReceiverSleeps), state: state,
		area:     unsafe.Add(s.base, g.bytes(dir)),
		consumed: s.u64(ctl + ctlConsumedSlots), consumedBytes: s.u64(ctl + ctlConsumedBytes),
		wait: newWaiter(mode, s.u32(ctl+ctlSenderSleeps), state),
	}
}

func newReceiver(s segment, dir int, mode transports.Wait, state *atomic.Uint32) receiver {
	g, ctl := s.geo, s.geo.control(dir)
	return receiver{
		slots: unsafe.Add(s.base, g.ring(dir)), mask: g.slots - 1, releaseAt: g.lag(), geo: g,
		state: state, area: unsafe.Add(s.base, g.bytes(dir)),
		consumed: s.u64(ctl + ctlConsumedSlots), consumedBytes: s.u64(ctl + ctlConsumedBytes),
		peerSleeps: s.u32(ctl + ctlSenderSleeps),
		wait:       newWaiter(mode, s.u32(ctl+ctlReceiverSleeps), state),
	}
}

func (s *sender) send(msg []byte) error {
	n := uint64(len(msg))
	if n > inlineBytes {
		return s.sendArea(msg)
	}
	if s.state.Load() != 0 || s.next == s.full {
		if err := s.room(s.pos); err != nil {
			return err
		}
	}
	slot := unsafe.Add(s.slots, (s.next&s.mask)*slotBytes)
	copy((*[inlineBytes]byte)(unsafe.Add(slot, wordBytes))[:], msg)
	s.publish(slot, word(s.next, tagInline, n))
	s.prefetch(n)
	return nil
}

func (s *sender) sendArea(msg []byte) error {
	n := uint64(len(msg))
	if n > s.geo.maxMessage {
		return fmt.Errorf("shm: message of %d B, at most %d B: %w", n, s.geo.maxMessage, transports.ErrTooLarge)
	}
	at := s.geo.at(s.pos, n)
	end := at + roundArea(n)
	if s.state.Load() != 0 || s.next == s.full || end-s.freed > s.geo.area {
		if err := s.room(end); err != nil {
			return err
		}
	}
	copy(unsafe.Slice((*byte)(unsafe.Add(s.area, at&(s.geo.area-1))), n), msg)
	slot := unsafe.Add(s.slots, (s.next&s.mask)*slotBytes)
	*(*uint64)(unsafe.Add(slot, wordBytes)) = at
	s.pos = end
	s.publish(slot, word(s.next, tagArea, n))
	s.prefetch(n)
	return nil
}

// ahead is how many slots before its turn the line of a slot is asked for.
const ahead = 6

// publish makes the message visible: the store of the word is the last one, and ordered before the look at the word of a
// sleeping receiver.
//
// Each slot was last read by the receiver, so that each store has to take its line from the other core first, and the
// locked store can't overlap that with the next message's. Asking ahead triples the rate of a stream of small messages
// (40 B: 5 to 15 million/s) and costs a round trip nothing.
//
// Tried and dropped: a plain store (release only), which doubles that rate again. It can miss a receiver that is going to
// sleep unless that one runs membarrier first, in all peers' languages, and it made a round trip 3 % longer.
func (s *sender) publish(slot unsafe.Pointer, w uint64) {
	atomic.StoreUint64((*uint64)(slot), w)
	s.next++
	if atomic.LoadUint32(s.peerSleeps) != 0 {
		wake(s.peerSleeps)
	}
}

// prefetch asks for the first line of a slot that will be written soon, and for the second if messages of n bytes need it.
func (s *sender) prefetch(n uint64) {
	slot := unsafe.Add(s.slots, ((s.next+ahead)&s.mask)*slotBytes)
	prefetchWrite(slot)
	if n > lineBytes-wordBytes && n <= inlineBytes {
		prefetchWrite(unsafe.Add(slot, lineBytes))
	}
}

// room waits until there is a free slot and the area is free up to position end.
func (s *sender) room(end uint64) error {
	for {
		if err := s.stopped(); err != nil {
			return err
		}
		// Slots first: the receiver gives back bytes before slots, so the bytes are at least as new as the slots.
		used := atomic.LoadUint64(s.consumed)
		freed := atomic.LoadUint64(s.consumedBytes)
		if s.next-used > s.mask+1 || s.pos-freed > s.geo.area || freed-s.freed > s.geo.area {
			if err := s.stopped(); err != nil {
				return err // Close has taken the segment away between the two looks
			}
			return fmt.Errorf("shm: receiver at slot %d, byte %d of %d, %d sent: %w", used, freed, s.next, s.pos, transports.ErrFrame)
		}
		s.full, s.freed = used+s.mask+1, freed
		if s.next != s.full && end-s.freed <= s.geo.area {
			return nil
		}
		s.wait.change(s.consumed, used)
	}
}

func (s *sender) stopped() error {
	switch st := s.state.Load(); {
	case st&stateClosed != 0:
		return errClosed
	case st&stateGone != 0:
		return errGone
	}
	return nil
}

func (r *receiver) recv() ([]byte, error) {
	if r.next >= r.releaseAt {
		r.release()
	}
	slot := unsafe.Add(r.slots, (r.next&r.mask)*slotBytes)
	w := atomic.LoadUint64((*uint64)(slot))
	if !fresh(w, r.next) || w&tagMask == 0 {
		var err error
		if w, err = r.await((*uint64)(slot), w); err != nil {
			return nil, err
		}
	}
	n, inArea, ok := r.geo.place(w)
	switch {
	case !ok:
		return nil, r.corrupt("header word", w)
	case inArea:
		return r.recvArea(slot, n)
	}
	r.next++
	return (*[inlineBytes]byte)(unsafe.Add(slot, wordBytes))[:n:n], nil
}

func (r *receiver) recvArea(slot unsafe.Pointer, n uint64) ([]byte, error) {
	// The position follows from the messages before; that the slot tells the same is the check of both.
	at := r.geo.at(r.pos, n)
	if got := atomic.LoadUint64((*uint64)(unsafe.Add(slot, wordBytes))); got != at {
		return nil, r.corrupt("area position", got)
	}
	r.next++
	r.pos = at + roundArea(n)
	if r.pos-r.releasedPos > r.geo.lagBytes() {
		r.releaseAt = r.next
	}
	return unsafe.Slice((*byte)(unsafe.Add(r.area, at&(r.geo.area-1))), n)[:n:n], nil
}

// await waits until the word of the next message stands in slot. What was received is given back first: the sender may be
// waiting for exactly that.
func (r *receiver) await(slot *uint64, w uint64) (uint64, error) {
	if r.wait.mode != transports.Block {
		// The answer of a peer on another core comes within these; giving back can wait so long.
		if w = poll(slot, w, firstPolls); fresh(w, r.next) && w&tagMask != 0 {
			return w, nil
		}
	}
	if r.next != r.released {
		r.release()
	}
	for {
		st := r.state.Load()
		if st&stateClosed != 0 {
			return 0, errClosed
		}
		// After the look at the state: what the peer sent before it went is there by now.
		w = atomic.LoadUint64(slot)
		switch {
		case fresh(w, r.next) && w&tagMask != 0:
			return w, nil
		case !stale(w, r.next, r.mask+1):
			return 0, r.corrupt("header word", w)
		case st&stateGone != 0:
			return 0, io.EOF
		}
		r.wait.change(slot, w)
	}
}

// release gives back all that was received: bytes first, see sender.room.
func (r *receiver) release() {
	if r.pos != r.releasedPos {
		atomic.StoreUint64(r.consumedBytes, r.pos)
		r.releasedPos = r.pos
	}
	atomic.StoreUint64(r.consumed, r.next)
	r.released = r.next
	r.releaseAt = r.next + r.geo.lag()
	if atomic.LoadUint32(r.peerSleeps) != 0 {
		wake(r.peerSleeps)
	}
}

func (r *receiver) corrupt(what string, got uint64) error {
	if r.state.Load()&stateClosed != 0 {
		return errClosed // Close has taken the segment away
	}
	return fmt.Errorf("shm: message %d: %s %#x: %w", r.next, what, got, transports.ErrFrame)
}
