package broker

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// The reading buffer of a connection begins small, since most connections of many are idle, and grows with what comes: to
// busyBuffer for many small frames at a time, beyond it for a frame that is larger.
const (
	idleBuffer = 2 << 10
	busyBuffer = 128 << 10
)

// receiveBuffer bounds what the kernel receives for one connection, in bytes; it doubles it, and may have a lower limit. Left
// alone it may go up to 32 MiB, which a sender that ends leaves to the router, and 4,096 connections may each take.
const receiveBuffer = 512 << 10

// peer is the router's end of one connection. A goroutine of its own reads and forwards; what can't be written at once is
// queued, and written by a second one.
type peer struct {
	r      *Router
	nc     net.Conn
	cookie uint32
	silent atomic.Int32 // heartbeats since something came
	left   atomic.Bool  // its process has closed it; there may be more to read

	// Of the reading goroutine.
	buf     []byte
	w       int // bytes read and not yet consumed
	greeted bool
	last    *peer     // the last target
	strays  int       // messages in a row to nobody
	strayed time.Time // the first of them

	// Under the router's lock.
	services  []*service // that it provides
	interests []*service // that it has found or subscribed to

	mu      sync.Mutex
	room    sync.Cond // queue has become shorter, or the connection has ended
	work    sync.Cond // queue is no longer empty, or the connection has ended
	queue   []byte
	spare   []byte // the other of two buffers
	writing bool   // the second goroutine is in a write
	started bool   // there is a second goroutine
	ended   bool
	try     try
}

func newPeer(r *Router, c net.Conn) (*peer, error) {
	p := &peer{r: r, nc: c, buf: make([]byte, idleBuffer)}
	p.room.L, p.work.L = &p.mu, &p.mu
	if err := p.try.init(c); err != nil {
		return nil, err
	}
	if t, ok := c.(*net.TCPConn); ok {
		if err := t.SetReadBuffer(receiveBuffer); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// run serves the connection to its end.
func (p *peer) run() {
	p.nc.SetReadDeadline(time.Now().Add(helloTime))
	err := p.read()
	if err != nil && !errors.Is(err, net.ErrClosed) {
		p.r.n.refused.Add(1)
		p.refuse(err.Error())
		p.r.remove(p)
		p.lastWords()
	} else {
		p.r.remove(p)
	}
	p.close()
}

// lastWordsTime is how long a refused connection has to read why.
const lastWordsTime = 100 * time.Millisecond

// lastWords lets the peer read the reason: a socket that is closed with unread bytes takes back what it has sent.
func (p *peer) lastWords() {
	if c, ok := p.nc.(interface{ CloseWrite() error }); ok && c.CloseWrite() == nil {
		p.nc.SetReadDeadline(time.Now().Add(lastWordsTime))
		for {
			if _, err := p.nc.Read(p.buf); err != nil {
				return
			}
		}
	}
}

// refuse tells the peer why it is closed, if there is room to.
func (p *peer) refuse(reason string) {
	p.r.o.Log(fmt.Sprintf("connection %d: %s", p.cookie, reason))
	p.deliver(Frame(Header{BufType: BufControl, Event: Refused, Target: p.cookie}, []byte(reason)), neverWait)
}

// close ends the connection; its reader then removes it.
func (p *peer) close() {
	p.mu.Lock()
	p.ended = true
	p.queue = nil
	p.room.Broadcast()
	p.work.Broadcast()
	p.mu.Unlock()
	p.nc.Close()
}

// read forwards what comes until the connection ends or breaks a rule; nil is its regular end.
func (p *peer) read() error {
	for {
		n, err := p.try.receive(p.buf[p.w:])
		if n > 0 {
			full := p.w+n == len(p.buf)
			p.w += n
			p.silent.Store(0)
			if err := p.consume(); err != nil {
				return err
			}
			if full {
				p.grow()
			}
		}
		if err != nil {
			if err == io.EOF && p.w > 0 {
				return fmt.Errorf("it ended inside a frame, %d B of which had come", p.w)
			}
			if !p.greeted && errors.Is(err, errTimeout) {
				return fmt.Errorf("it did not say hello within %s", helloTime)
			}
			return nil
		}
	}
}

// grow doubles a buffer that a read has filled. Only what has come makes it larger, never what was announced.
func (p *peer) grow() {
	if len(p.buf) >= busyBuffer && p.w < len(p.buf)/2 {
		return
	}
	b := make([]byte, min(2*len(p.buf), max(2*busyBuffer, p.r.o.MaxFrame+HeaderSize)))
	copy(b, p.buf[:p.w])
	p.buf = b
}

// consume forwards the whole frames in the buffer and moves the rest to its begin. Frames to the same target that stand
// side by side go in one write.
func (p *peer) consume() error {
	b := p.buf[:p.w]
	run, at := 0, 0 // b[run:at] is not yet forwarded
	frames := 0
	for len(b)-at >= HeaderSize {
		size, err := CheckHead(b[at:], p.r.o.MaxFrame)
		if err != nil {
			return err
		}
		if size > len(b)-at {
			break
		}
		f := b[at : at+size]
		if err := p.check(f); err != nil {
			return err
		}
		event := EventOf(f)
		forward := event == Message || event == Broadcast
		if frames > 0 && (!forward || !sameWay(b[run:], f)) {
			if err := p.forward(b[run:at], frames); err != nil {
				return err
			}
			run, frames = at, 0
		}
		at += size
		if forward {
			frames++
			continue
		}
		if err := p.control(event, f); err != nil {
			return err
		}
		run = at
	}
	if frames > 0 {
		if err := p.forward(b[run:at], frames); err != nil {
			return err
		}
	}
	if at > 0 {
		p.w = copy(p.buf, b[at:])
	}
	return nil
}

// check holds a whole frame against the rules for all of them.
func (p *peer) check(f []byte) error {
	if err := CheckSum(f); err != nil {
		return err
	}
	if !p.greeted {
		if EventOf(f) != Hello {
			return fmt.Errorf("event %d before hello: %w", EventOf(f), ErrFrame)
		}
		return nil
	}
	if s := SourceOf(f); s != p.cookie {
		return fmt.Errorf("source %d is not its own: %w", s, ErrFrame)
	}
	return nil
}

// sameWay tells whether two frames have the same receivers.
func sameWay(a, b []byte) bool {
	return EventOf(a) == EventOf(b) && TargetOf(a) == TargetOf(b) && ServiceOf(a) == ServiceOf(b) && EventIDOf(a) == EventIDOf(b)
}

// forward delivers so many frames of the same way.
func (p *peer) forward(b []byte, frames int) error {
	if EventOf(b) == Broadcast {
		list, ok := p.r.subscribersOf(p, ServiceOf(b), EventIDOf(b))
		if !ok {
			return p.stray(b, frames)
		}
		for _, q := range list {
			q.deliverAll(p, b, frames)
		}
		return nil
	}
	t := p.last
	if target := TargetOf(b); t == nil || t.cookie != target {
		t = p.r.find(target)
		p.last = t
	}
	if t == nil || !t.deliverAll(p, b, frames) {
		p.last = nil
		return p.stray(b, frames)
	}
	p.strays = 0
	return nil
}

// stray tells the sender that a message has no receiver. One that goes on for longer than what it had under way can last is
// closed: it may be one that only sends, and would else never know.
func (p *peer) stray(b []byte, frames int) error {
	p.r.n.undeliverable.Add(int64(frames))
	if p.strays == 0 {
		p.strayed = time.Now()
	}
	p.strays += frames
	if p.strays > maxStrays && time.Since(p.strayed) > strayTime {
		return fmt.Errorf("%d messages in a row to %d, which is nobody", p.strays, TargetOf(b))
	}
	p.deliver(Frame(Header{BufType: BufControl, Event: Undeliverable, Source: TargetOf(b), Target: p.cookie,
		Sequence: SequenceOf(b), Message: MessageOf(b), Result: ResultNotFound}, nil), neverWait)
	return nil
}
