package frame

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"msgbench/transports"
)

const testMax = 1000

// decodeAll is the reference: it has the whole stream before it and copies each message.
func decodeAll(stream []byte) (msgs [][]byte, end error) {
	for {
		if len(stream) == 0 {
			return msgs, io.EOF
		}
		if len(stream) < 4 {
			return msgs, io.ErrUnexpectedEOF
		}
		n := uint64(stream[0]) | uint64(stream[1])<<8 | uint64(stream[2])<<16 | uint64(stream[3])<<24
		if n > testMax {
			return msgs, transports.ErrTooLarge
		}
		if uint64(len(stream)-4) < n {
			return msgs, io.ErrUnexpectedEOF
		}
		msgs = append(msgs, bytes.Clone(stream[4:4+n]))
		stream = stream[4+n:]
	}
}

// chunks reads a stream in pieces of the sizes given, again and again.
type chunks struct {
	data  []byte
	sizes []byte
	i     int
}

func (c *chunks) Read(p []byte) (int, error) {
	if len(c.data) == 0 {
		return 0, io.EOF
	}
	n := len(c.data)
	if len(c.sizes) > 0 {
		n = 1 + int(c.sizes[c.i%len(c.sizes)])
		c.i++
	}
	n = copy(p, c.data[:min(n, len(c.data))])
	c.data = c.data[n:]
	return n, nil
}

// compare decodes stream in pieces and holds the outcome against the reference. Each message is overwritten before the
// next is asked for, as the contract allows.
func compare(t *testing.T, stream, sizes []byte) {
	t.Helper()
	want, wantEnd := decodeAll(stream)
	for _, buffer := range []int{testMax + headSize, testMax + headSize + 7, 3 * testMax} {
		d := &Reader{src: &chunks{data: stream, sizes: sizes}, max: testMax, buf: make([]byte, buffer)}
		for i := 0; ; i++ {
			msg, err := d.Next()
			if err != nil {
				if i != len(want) || !errors.Is(err, wantEnd) {
					t.Fatalf("ended after %d messages with %v, want %d and %v", i, err, len(want), wantEnd)
				}
				break
			}
			if i >= len(want) || !bytes.Equal(msg, want[i]) {
				t.Fatalf("message %d is %x, want %x", i, msg, want[min(i, len(want)-1):])
			}
			_ = append(msg, "beyond"...)
			for j := range msg {
				msg[j] = 0xee
			}
		}
	}
}

func FuzzDecoder(f *testing.F) {
	var many []byte
	for i := range 300 {
		many = binary.LittleEndian.AppendUint32(many, uint32(i%40))
		many = append(many, bytes.Repeat([]byte{byte(i)}, i%40)...)
	}
	f.Add([]byte{}, []byte{})
	f.Add([]byte{0, 0, 0, 0, 1, 0, 0, 0, 'x'}, []byte{0})
	f.Add([]byte{5, 0, 0, 0, 'a', 'b'}, []byte{1, 2})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0}, []byte{})
	f.Add([]byte{0xe9, 3, 0, 0}, []byte{})
	f.Add([]byte{1, 0}, []byte{})
	f.Add(many, []byte{250, 3, 99})
	f.Fuzz(func(t *testing.T, stream, sizes []byte) { compare(t, stream, sizes) })
}

// collect is a Sink that keeps what it gets.
type collect struct {
	bytes.Buffer
	calls int
}

func (c *collect) WriteBoth(a, b []byte) error {
	c.calls++
	c.Write(a)
	c.Write(b)
	return nil
}

func TestRoundTrip(t *testing.T) {
	const most = 3 * copyLimit
	var c collect
	e := NewWriter(&c, most)
	sizes := []int{0, 1, 3, copyLimit - 1, copyLimit, copyLimit + 1, most}
	for _, size := range sizes {
		msg := bytes.Repeat([]byte{byte(size)}, size)
		if size == 0 {
			msg = nil
		}
		if err := e.Send(msg); err != nil {
			t.Fatal(err)
		}
	}
	if c.calls != len(sizes) {
		t.Errorf("%d writes for %d messages", c.calls, len(sizes))
	}
	if err := e.Send(make([]byte, most+1)); !errors.Is(err, transports.ErrTooLarge) || c.calls != len(sizes) {
		t.Errorf("message over the limit: error %v and %d writes", err, c.calls-len(sizes))
	}
	stream := bytes.Clone(c.Bytes())
	for _, src := range []io.Reader{bytes.NewReader(stream), iotest.OneByteReader(bytes.NewReader(stream)), iotest.DataErrReader(bytes.NewReader(stream))} {
		d := NewReader(src, most)
		for i, size := range sizes {
			msg, err := d.Next()
			if err != nil || !bytes.Equal(msg, bytes.Repeat([]byte{byte(size)}, size)) {
				t.Fatalf("message %d: %d B, error %v; want %d B", i, len(msg), err, size)
			}
		}
		if _, err := d.Next(); err != io.EOF {
			t.Fatalf("after the last message: %v, want io.EOF", err)
		}
	}
}
