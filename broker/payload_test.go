package broker

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// pattern is a payload of that size whose bytes differ from their neighbours.
func pattern(size int) []byte {
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(i*7 + i>>8)
	}
	Shape(b)
	return b
}

// TestLadder reads and writes each size, and holds it against the totals of the published page.
func TestLadder(t *testing.T) {
	totals := map[int]int{0: 140, 64: 204, 128: 268, 512: 652, 1024: 1164, 4096: 4236, 65536: 65676}
	for i, size := range Ladder {
		b := pattern(size)
		p := Params{ID: 7, T1: 8, T2: 9}
		if err := p.Data.Parse(b, size); err != nil {
			t.Errorf("%d B: %v", size, err)
			continue
		}
		again := make([]byte, size)
		p.Data.Put(again)
		if !bytes.Equal(again, b) {
			t.Errorf("%d B: read and written again they are other bytes", size)
		}
		for _, response := range []bool{false, true} {
			wire := make([]byte, p.Size(response))
			p.Put(wire, response)
			if want, ok := totals[size]; ok && !response && HeaderSize+len(wire) != want {
				t.Errorf("%d B: %d B on the wire, want %d B", size, HeaderSize+len(wire), want)
			}
			var q Params
			if err := q.Parse(wire, response, size); err != nil {
				t.Fatalf("%d B: %v", size, err)
			}
			q.Data.Put(again)
			if q.ID != 7 || q.T1 != 8 || (q.T2 == 9) != response || !bytes.Equal(again, b) {
				t.Errorf("%d B: parameters read back as %d, %d, %d", size, q.ID, q.T1, q.T2)
			}
			if n := testing.AllocsPerRun(10, func() { p.Put(wire, response); q.Parse(wire, response, size) }); n != 0 {
				t.Errorf("%d B: %v allocations", size, n)
			}
		}
		if kind, n, ok := MethodParts(Method(3, i)); kind != 3 || n != size || !ok {
			t.Errorf("method of %d B: kind %d, %d B, %v", size, kind, n, ok)
		}
	}
	for _, m := range []uint32{0, 0xff, 0x100, 0x1000 + uint32(len(Ladder)) + 1} {
		if _, _, ok := MethodParts(m); ok {
			t.Errorf("method %#x exists", m)
		}
	}
}

// TestRefusedPayloads spoils payloads in one place.
func TestRefusedPayloads(t *testing.T) {
	for _, c := range []struct {
		size  int
		spoil func([]byte) []byte
		says  string
	}{
		{8, func(b []byte) []byte { return b[:7] }, "7 B"},
		{64, func(b []byte) []byte { return append(b, 0) }, "65 B"},
		{128, func(b []byte) []byte { b[127] = 'x'; return b }, "string"},
		{512, func(b []byte) []byte { b[3*128+70] = 0; return b }, "string"},
		{1024, func(b []byte) []byte { b[192] = 1; return b }, "buffer"},
		{4096, func(b []byte) []byte { le.PutUint32(b[192:], 1<<32-1); return b }, "buffer of 4294967295 B"},
	} {
		var d Data
		err := d.Parse(c.spoil(pattern(c.size)), c.size)
		if !errors.Is(err, ErrFrame) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%d B: error %v, want one that says %q", c.size, err, c.says)
		}
	}
	var p Params
	for n := range ResponseBase {
		if err := p.Parse(make([]byte, n), true, 0); !errors.Is(err, ErrFrame) {
			t.Errorf("%d B of parameters: error %v", n, err)
		}
	}
}

// TestShape leaves what is no payload of the ladder, and the first 8 B, as they are.
func TestShape(t *testing.T) {
	for _, size := range []int{7, 64, 100, 128, 1024} {
		b := bytes.Repeat([]byte{0}, size)
		b[0] = 9
		Shape(b)
		if b[0] != 9 || size != 128 && size != 1024 && bytes.Count(b, []byte{0}) != size-1 {
			t.Errorf("%d B were changed to %x", size, b)
		}
	}
}

func FuzzParams(f *testing.F) {
	for i, size := range Ladder[:9] {
		var p Params
		p.Data.Parse(pattern(size), size)
		b := make([]byte, p.Size(true))
		p.Put(b, true)
		f.Add(byte(i), true, b)
	}
	f.Fuzz(func(t *testing.T, index byte, response bool, b []byte) {
		size := Ladder[int(index)%len(Ladder)]
		var p Params
		if err := p.Parse(b, response, size); err != nil {
			return
		}
		again := make([]byte, p.Size(response))
		p.Put(again, response)
		if !bytes.Equal(again, b) {
			t.Errorf("%x was written back as %x", b, again)
		}
	})
}
