package brokered

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"msgbench/broker"
	"msgbench/transports"
)

// word is a parameter of eight bytes, of a kind that is no payload of the ladder.
type word [8]byte

func (w *word) Take(p []byte) error { return w.Parse(p) }
func (w *word) Size() int           { return len(w) }
func (w *word) Wire(int) int        { return len(w) }
func (w *word) Put(b []byte)        { copy(b, w[:]) }
func (w *word) Parse(b []byte) error {
	if len(b) != len(w) {
		return fmt.Errorf("%d B are no word", len(b))
	}
	copy(w[:], b)
	return nil
}
func (w *word) Give(p []byte) (int, error) { return copy(p, w[:]), nil }

func wordRequests(kind uint32) transports.Fields {
	if kind == kindRequest {
		return new(word)
	}
	return nil
}

// typedPair is two ends that take only typed messages.
func typedPair(t *testing.T) (client, server transports.Conn) {
	t.Helper()
	r := withRouter(t, NewTCP(), transports.Stack)
	o := transports.Options{Fields: wordRequests}
	l, err := r.Listen(o)
	if err != nil {
		t.Fatal(err)
	}
	if client, err = r.Dial(l.Endpoint(), o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	if server, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	return client, server
}

func typedMessage(kind uint32, payload int) []byte {
	m := make([]byte, transports.EnvelopeSize+payload)
	binary.LittleEndian.PutUint64(m, 77)
	binary.LittleEndian.PutUint32(m[16:], kind)
	binary.LittleEndian.PutUint32(m[20:], uint32(payload))
	for i := range payload {
		m[transports.EnvelopeSize+i] = byte(i + 1)
	}
	return m
}

// TestOwnParameters carries parameters of the scenario's own, and refuses at the sender what has no type.
func TestOwnParameters(t *testing.T) {
	client, server := typedPair(t)
	for _, m := range [][]byte{typedMessage(kindRequest, 8), typedMessage(kindReply, 64), typedMessage(3, 0)} {
		if err := client.Send(m); err != nil {
			t.Fatal(err)
		}
		got, err := server.Recv()
		if err != nil || string(got) != string(m) {
			t.Errorf("%x came as %x (%v)", m, got, err)
		}
	}
	for _, m := range [][]byte{typedMessage(kindRequest, 9), typedMessage(kindReply, 9), typedMessage(kindData, 100)} {
		if err := client.Send(m); err == nil || !strings.Contains(err.Error(), "message 77") {
			t.Errorf("kind %d of %d B: error %v", m[16], len(m), err)
		}
	}
	// Nothing of them has been sent, and what is no call of the scenario's may still go as it is.
	hello := typedMessage(6, 100)
	if err := client.Send(hello); err != nil {
		t.Fatal(err)
	}
	if got, err := server.Recv(); err != nil || string(got) != string(hello) {
		t.Errorf("%d B came as %d B (%v)", len(hello), len(got), err)
	}
	if request, response := client.(transports.Sized).WireSizes(8, 64); request != 148 || response != 212 {
		t.Errorf("%d B and %d B on the wire, want 148 and 212", request, response)
	}
}

// TestUntypedArrives refuses at the receiver what came without types, or with others than the method has.
func TestUntypedArrives(t *testing.T) {
	for _, c := range []struct {
		name string
		send func(s *stack) error
		says string
	}{
		{"flat", func(s *stack) error { return s.sendFlat(typedMessage(kindRequest, 8)) }, "without types"},
		{"size", func(s *stack) error {
			s.send.Data.Size = 16
			return s.sendCall(broker.OwnMethod(kindRequest), kindRequest, typedMessage(kindRequest, 16), nil)
		}, "16 B are no word"},
		{"method", func(s *stack) error {
			s.send.Data.Size = 0
			return s.sendCall(broker.OwnMethod(kindReply), kindReply, typedMessage(kindReply, 0), nil)
		}, "no method 767"},
	} {
		client, server := typedPair(t)
		if err := c.send(client.(*stack)); err != nil {
			t.Fatal(err)
		}
		if _, err := server.Recv(); !errors.Is(err, transports.ErrFrame) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: error %v, want one that says %q", c.name, err, c.says)
		}
	}
}
