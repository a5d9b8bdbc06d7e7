package broker

import (
	"time"

	"msgbench/measure"
)

// patience is whether deliver may wait for room in the target's queue.
type patience int

const (
	neverWait patience = iota // rather drop it
	mayWait
	// overflow goes beyond the bound by up to maxOverflow, and waits then: for what comes from a connection that has ended.
	// That is no more than its socket held, and those who read must not wait for those who don't to hear of its end.
	overflow
)

const maxOverflow = 8 << 20

// lookEvery is how often a delivery that waits looks whether the connection that it comes from has ended.
const lookEvery = 20 * time.Millisecond

// deliverAll delivers messages of from, as the policy says, and counts them; false if the connection has ended.
func (p *peer) deliverAll(from *peer, b []byte, frames int) bool {
	how := neverWait
	if p.r.o.Slow == Block {
		how = mayWait
	}
	at := int64(0)
	metered := p.r.meter != nil && len(from.services) == 0 // only its own goroutine, this one, changes services
	if metered {
		// Before it is delivered: never later than the receipt, and there for whoever asks as soon as he knows of that.
		at = measure.Now()
		p.r.meter.add(at, int64(frames))
	}
	became := p.deliverFrom(from, b, how)
	if metered && became != delivered {
		p.r.meter.add(at, -int64(frames))
	}
	switch became {
	case delivered:
		p.r.n.messages.Add(int64(frames))
		p.r.n.bytes.Add(int64(len(b)))
	case dropped:
		p.r.n.dropped.Add(int64(frames))
	case gone:
		return false
	}
	return true
}

// What became of a delivery.
type fate int

const (
	delivered fate = iota // written or queued
	dropped
	gone
)

// deliver delivers frames of the router's own.
func (p *peer) deliver(b []byte, how patience) fate { return p.deliverFrom(nil, b, how) }

// deliverFrom writes whole frames to the connection at once, if nothing waits there and the socket has room, and queues what
// remains. Where the queue is full it waits, or drops the frames.
func (p *peer) deliverFrom(from *peer, b []byte, how patience) fate {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return gone
	}
	whole := true
	if len(p.queue) == 0 && !p.writing {
		var read *try
		if from != nil {
			read = &from.try
		}
		n, err := p.try.send(read, b)
		if err != nil {
			return gone // its reader will see why
		}
		if n == len(b) {
			return delivered
		}
		b, whole = b[n:], n == 0
	}
	// The rest of a frame must follow, whatever the queue holds.
	if whole {
		if how == neverWait && p.full(b, 0) {
			return dropped
		}
		p.awaitRoom(from, b, how)
		if p.ended {
			return gone
		}
	}
	p.queue = append(p.queue, b...)
	if !p.started {
		p.started = true
		p.r.wg.Go(p.write)
	}
	p.work.Signal()
	return delivered
}

// full tells whether the queue has no room for b, even beyond its bound by so much.
func (p *peer) full(b []byte, beyond int) bool {
	return len(p.queue) > 0 && len(p.queue)+len(b) > p.r.o.Queue+beyond
}

// awaitRoom waits until b may be queued, or the connection has ended. The lock is held, but for the time of waiting.
func (p *peer) awaitRoom(from *peer, b []byte, how patience) {
	beyond := func() int {
		if how == overflow || from != nil && from.left.Load() {
			return maxOverflow
		}
		return 0
	}
	if p.ended || !p.full(b, beyond()) {
		return
	}
	p.r.n.waits.Add(1)
	if from != nil {
		stop := make(chan struct{})
		defer close(stop)
		go p.lookAfter(from, stop)
	}
	for !p.ended && p.full(b, beyond()) {
		p.room.Wait()
	}
}

// lookAfter wakes those who wait for room when from has been closed by its process, until stop is closed.
func (p *peer) lookAfter(from *peer, stop chan struct{}) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for !from.left.Load() {
		select {
		case <-stop:
			return
		case <-tick.C:
			from.left.Store(from.try.hungUp())
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.room.Broadcast()
}

// write empties the queue, all that waits in one write, until the connection ends.
func (p *peer) write() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		for len(p.queue) == 0 && !p.ended {
			p.work.Wait()
		}
		if p.ended {
			return
		}
		b := p.queue
		p.queue, p.spare, p.writing = p.spare[:0], nil, true
		p.room.Broadcast()
		p.mu.Unlock()
		_, err := p.nc.Write(b)
		p.mu.Lock()
		p.writing = false
		if cap(b) <= 2*p.r.o.Queue { // one large frame must not keep its memory for good
			p.spare = b[:0]
		}
		if err != nil {
			p.ended, p.queue = true, nil
			p.room.Broadcast()
			p.nc.Close() // wakes the reader
			return
		}
	}
}
