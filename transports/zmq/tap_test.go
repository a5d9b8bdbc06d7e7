package zmq

import (
	"net"
	"testing"
)

// BenchmarkFollow is what following the frames of one small request costs the library's reader.
func BenchmarkFollow(b *testing.B) {
	t := &tap{max: 1 << 20, live: true, fail: func(error) {}}
	request := [][]byte{{flagMore, 0}, {0, 40}, make([]byte, 40)}
	for b.Loop() {
		for _, p := range request {
			if _, err := t.after(p, len(p), nil); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// A message has to cost the library one writev, as it does with a connection of its own: package net does that only for
// what has its unexported method.
func TestTapKeepsWritev(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("tcp4", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	tap, err := newTap(c, 1000, func(error) {}, func() {})
	if err != nil {
		t.Fatal(err)
	}
	w := &writes{tapTCP: tap.conn.(*tapTCP)}
	buffers := net.Buffers{[]byte("a"), []byte("b"), []byte("c")}
	if _, err := buffers.WriteTo(w); err != nil || w.n != 0 {
		t.Fatalf("net.Buffers made %d single writes (error %v): the tap hides its method", w.n, err)
	}
}

// writes counts the calls that package net makes when it finds no better way.
type writes struct {
	*tapTCP
	n int
}

func (w *writes) Write(p []byte) (int, error) { w.n++; return w.tapTCP.Write(p) }
