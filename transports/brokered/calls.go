package brokered

import (
	"encoding/binary"
	"fmt"

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

// fieldsOfKinds are the parameters of the scenario's own, by kind; nil where there are none.
type fieldsOfKinds [lastKind + 1]transports.Fields

// The directions of own.
const (
	inward = iota
	outward
)

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
	return c.write(f, nil)
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
