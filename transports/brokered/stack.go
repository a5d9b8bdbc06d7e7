package brokered

import (
	"fmt"
	"io"
	"sync"

	"msgbench/broker"
	"msgbench/transports"
)

// readAhead is how much a chunk holds beyond one frame, in bytes.
const readAhead = 64 << 10

// stack is a connection of scope stack. A goroutine of its own receives bytes and hands them, whole frames and as many as
// there are, to the component: the goroutine that calls Recv, on which parameters are deserialized and methods are called.
type stack struct {
	*wire
	maxFrame int

	chunks chan *chunk // received, not yet taken: the component's queue
	free   chan *chunk // to receive into
	done   chan struct{}
	once   sync.Once
	wg     sync.WaitGroup
	err    error // of receiving; valid once chunks is closed

	// Of the component.
	cur     *chunk
	params  broker.Params // of the call that is served
	send    broker.Params
	typed   bool             // no request, reply or data message may go without types
	own     [2]fieldsOfKinds // of those received and those sent
	methods [lastKind + 1]func(kind uint32, seq uint64, p *broker.Params) []byte
	flat    []byte
	entered int64 // when the last request's method was called
}

// chunk is bytes of whole frames, with what was read behind them.
type chunk struct {
	buf   []byte
	at    int // the next frame
	whole int // end of the last
}

var _ transports.TypedConn = (*stack)(nil)

// chunkCount is how many chunks there are: one is served while the other is filled.
const chunkCount = 2

func newStack(t *Transport, link *broker.Link, o transports.Options, w way) (*stack, error) {
	c := &stack{maxFrame: o.MaxMessage + frameExtra, chunks: make(chan *chunk, chunkCount), free: make(chan *chunk, chunkCount),
		done: make(chan struct{}), flat: make([]byte, max(o.MaxMessage, transports.EnvelopeSize))}
	c.wire = newWire(t, link, o, w, o.MaxMessage)
	if err := c.open(link.Conn); err != nil {
		return nil, err
	}
	var early []byte // what the link has read beyond its own: messages of a peer that was quick
	if !w.sends {
		early = link.In.Rest()
	}
	for range chunkCount {
		c.free <- &chunk{buf: make([]byte, c.maxFrame+readAhead+len(early))}
	}
	for kind := range c.methods {
		c.methods[kind] = c.called
		if o.Fields != nil {
			c.typed = true
			c.own[inward][kind], c.own[outward][kind] = o.Fields(uint32(kind)), o.Fields(uint32(kind))
		}
	}
	c.methods[kindRequest] = c.request
	if w.sends {
		c.in.Src = c.stream // it only sends: there is no component
	} else {
		c.wg.Go(func() { c.receive(early) })
	}
	c.facts["handoffs"] = "1"
	c.facts["handoff"] = "goroutine"
	if o.LockThread {
		c.facts["handoff"] = "thread"
	}
	return c, nil
}

// receive fills chunks until the connection ends. rest is what was read before.
func (c *stack) receive(rest []byte) {
	defer close(c.chunks)
	for {
		var k *chunk
		select {
		case k = <-c.free:
		case <-c.done:
			c.err = transports.ErrClosed
			return
		}
		whole, all, err := broker.Batch(c.stream, k.buf, copy(k.buf, rest), c.maxFrame)
		if err != nil {
			c.err = err
			return
		}
		k.at, k.whole = 0, whole
		rest = append(rest[:0], k.buf[whole:all]...)
		select {
		case c.chunks <- k:
		case <-c.done:
			c.err = transports.ErrClosed
			return
		}
	}
}

// next is the next frame that was handed over, checked.
func (c *stack) next() ([]byte, error) {
	for c.cur == nil || c.cur.at == c.cur.whole {
		if c.cur != nil {
			c.free <- c.cur
			c.cur = nil
		}
		k, ok := <-c.chunks
		if !ok {
			return nil, c.err
		}
		c.cur = k
	}
	k := c.cur
	n, err := broker.CheckHead(k.buf[k.at:k.whole], c.maxFrame)
	if err != nil {
		return nil, err
	}
	f := k.buf[k.at : k.at+n : k.at+n]
	k.at += n
	return f, broker.CheckSum(f)
}

// Recv serves the next call, and returns what it was called with.
func (c *stack) Recv() ([]byte, error) {
	if c.way.sends && !c.stream.Closed() {
		return nil, c.received(errDirection)
	}
	for !c.stream.Closed() {
		if c.gone {
			return nil, io.EOF
		}
		f, err := c.next()
		if err == nil {
			var ours bool
			if ours, err = c.ours(f); err == nil && !ours {
				continue
			}
		}
		switch {
		case err != nil:
		case broker.BufTypeOf(f) == broker.BufTyped:
			return c.call(f)
		case c.typed && typedKind(broker.Body(f)):
			err = fmt.Errorf("a message without types: %w", transports.ErrFrame)
		default:
			return broker.Body(f), nil
		}
		return nil, c.received(err)
	}
	return nil, c.received(transports.ErrClosed)
}

// Shape makes a payload one of the ladder's.
func (*stack) Shape(payload []byte) { broker.Shape(payload) }

// WireSizes are header, parameters and payload, or in place of a payload what the scenario's own parameters take. They are those
// of who asks, not of who answers.
func (c *stack) WireSizes(request, response int) (int, int) {
	if f := c.own[outward][kindRequest]; f != nil {
		request = f.Wire(request)
	}
	if f := c.own[inward][kindReply]; f != nil {
		response = f.Wire(response)
	}
	return broker.HeaderSize + broker.RequestBase + request, broker.HeaderSize + broker.ResponseBase + response
}

// InFlight counts with the larger of a call's two sizes.
func (c *stack) InFlight(size int) int { return max(1, c.full(frameExtra+size)) }

// Close closes the connection and ends its goroutine.
func (c *stack) Close() error {
	c.once.Do(func() { close(c.done) })
	err := c.close()
	c.wg.Wait()
	return err
}
