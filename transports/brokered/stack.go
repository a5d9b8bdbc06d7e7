package brokered

import (
	"encoding/binary"
	"fmt"
	"io"
	"sync"

	"msgbench/broker"
	"msgbench/measure"
	"msgbench/transports"
)

// The kinds of messages that scenarios send, as far as they matter here.
const (
	kindRequest = 1
	kindReply   = 2
	kindData    = 5
	lastKind    = 15 // of those that can be methods
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

// fieldsOfKinds are the parameters of the scenario's own, by kind; nil where there are none.
type fieldsOfKinds [lastKind + 1]transports.Fields

// The directions of own.
const (
	inward = iota
	outward
)

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

// call deserializes the parameters of a call and calls its method.
func (c *stack) call(f []byte) ([]byte, error) {
	if kind, own := broker.OwnMethodKind(broker.MessageOf(f)); own {
		return c.callOwn(kind, f)
	}
	kind, size, ok := broker.MethodParts(broker.MessageOf(f))
	if !ok || kind > lastKind || size > len(c.flat)-transports.EnvelopeSize {
		return nil, fmt.Errorf("%s: receive: no method %d: %w", c.name, broker.MessageOf(f), transports.ErrFrame)
	}
	if err := c.params.Parse(broker.Body(f), kind == kindReply, size); err != nil {
		return nil, fmt.Errorf("%s: receive: method %d: %w (%w)", c.name, broker.MessageOf(f), err, transports.ErrFrame)
	}
	return c.methods[kind](kind, broker.SequenceOf(f), &c.params), nil
}

// request is the method of a request: it notes when it was called, which goes back with the response.
func (c *stack) request(kind uint32, seq uint64, p *broker.Params) []byte {
	c.entered = measure.Now()
	return c.called(kind, seq, p)
}

// called is a method: it gives its parameters to the scenario, as envelope and payload.
func (c *stack) called(kind uint32, seq uint64, p *broker.Params) []byte {
	m := c.message(kind, seq, p.T1, p.Data.Size)
	p.Data.Put(m[transports.EnvelopeSize:])
	return m
}

// message is the envelope of a message to the scenario, and room for its payload.
func (c *stack) message(kind uint32, seq uint64, stamp int64, payload int) []byte {
	m := c.flat[:transports.EnvelopeSize+payload]
	binary.LittleEndian.PutUint64(m, seq)
	binary.LittleEndian.PutUint64(m[8:], uint64(stamp))
	binary.LittleEndian.PutUint32(m[16:], kind)
	binary.LittleEndian.PutUint32(m[20:], uint32(payload))
	binary.LittleEndian.PutUint64(m[24:], 0)
	return m
}

// Send calls a method of the other end: its parameters are what envelope and payload hold. What is no call, because its
// size has no type, goes as it is.
func (c *stack) Send(msg []byte) error {
	if len(msg) < transports.EnvelopeSize || c.way.receives || len(msg) > c.max {
		return c.sendFlat(msg)
	}
	kind, payload := binary.LittleEndian.Uint32(msg[16:]), msg[transports.EnvelopeSize:]
	if kind > lastKind || int(binary.LittleEndian.Uint32(msg[20:])) != len(payload) || binary.LittleEndian.Uint64(msg[24:]) != 0 {
		return c.sendFlat(msg)
	}
	if own := c.own[outward][kind]; own != nil {
		if err := own.Take(payload); err != nil {
			return fmt.Errorf("%s: send: message %d: %w", c.name, binary.LittleEndian.Uint64(msg), err)
		}
		return c.sendCall(broker.OwnMethod(kind), kind, msg, own)
	}
	index := broker.LadderIndex(len(payload))
	if index < 0 || c.send.Data.Parse(payload, len(payload)) != nil {
		if c.typed && typedKind(msg) {
			return fmt.Errorf("%s: send: message %d: its payload of %d B has no type", c.name, binary.LittleEndian.Uint64(msg), len(payload))
		}
		return c.sendFlat(msg)
	}
	return c.sendCall(broker.Method(kind, index), kind, msg, nil)
}

// typedKind tells whether a message is one of those that are measured.
func typedKind(msg []byte) bool {
	if len(msg) < transports.EnvelopeSize {
		return false
	}
	kind := binary.LittleEndian.Uint32(msg[16:])
	return kind == kindRequest || kind == kindReply || kind == kindData
}

// sendCall serializes the parameters in own, or else in c.send, and sends them. msg has the envelope.
func (c *stack) sendCall(method, kind uint32, msg []byte, own transports.Fields) error {
	seq := binary.LittleEndian.Uint64(msg)
	p := &c.send
	p.ID, p.T1 = uint32(seq), int64(binary.LittleEndian.Uint64(msg[8:]))
	call, response := broker.CallNotify, kind == kindReply
	switch kind {
	case kindRequest:
		call = broker.CallRequest
	case kindReply:
		call, p.T2 = broker.CallResponse, c.entered
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	size := broker.HeaderSize + base(response)
	if own != nil {
		size += own.Size()
	} else {
		size += p.Data.Size
	}
	if size > len(c.out) {
		return fmt.Errorf("%s: send: a call of %d B: %w, at most %d B", c.name, size, transports.ErrTooLarge, len(c.out))
	}
	f := c.out[:size]
	broker.SetCall(f, broker.BufTyped, method, seq, call)
	payload := p.PutBase(f[broker.HeaderSize:], response)
	if own != nil {
		own.Put(payload)
	} else {
		p.Data.Put(payload)
	}
	broker.Seal(f, nil)
	return c.sent(c.stream.WriteBoth(f, nil))
}

// base is how many bytes of parameters stand before a payload.
func base(response bool) int {
	if response {
		return broker.ResponseBase
	}
	return broker.RequestBase
}

// callOwn is call for parameters of the scenario's own.
func (c *stack) callOwn(kind uint32, f []byte) ([]byte, error) {
	if kind > lastKind || c.own[inward][kind] == nil {
		return nil, fmt.Errorf("%s: receive: no method %d: %w", c.name, broker.MessageOf(f), transports.ErrFrame)
	}
	own, p := c.own[inward][kind], &c.params
	body, err := p.ParseBase(broker.Body(f), kind == kindReply)
	if err == nil {
		err = own.Parse(body)
	}
	if kind == kindRequest {
		c.entered = measure.Now()
	}
	n := 0
	if err == nil {
		n, err = own.Give(c.flat[transports.EnvelopeSize:])
	}
	if err != nil {
		return nil, fmt.Errorf("%s: receive: method %d: %w (%w)", c.name, broker.MessageOf(f), err, transports.ErrFrame)
	}
	return c.message(kind, broker.SequenceOf(f), p.T1, n), nil
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
