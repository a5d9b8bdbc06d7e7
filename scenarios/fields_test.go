package scenarios

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"msgbench/scenarios/registry"
	"msgbench/transports"
)

// fieldsExample is a payload that is sent as typed parameters, and how they are serialized.
type fieldsExample struct {
	scenario Scenario
	kind     kind
	payload  []byte
	size     int
}

func fieldsExamples(t testing.TB) []fieldsExample {
	batch := func(n int) []byte {
		p := make([]byte, n*(batchEntry+batchItem))
		putDirectory(p, n)
		for i := range n {
			binary.LittleEndian.PutUint64(p[n*batchEntry+i*batchItem:], uint64(i)<<56|uint64(i+7))
		}
		return p
	}
	snapshot, err := registry.Encode(nil, registry.BenchItems(), 5)
	if err != nil {
		t.Fatal(err)
	}
	return []fieldsExample{
		{Batch, kindRequest, batch(minBatch), 4 + 8*minBatch},
		{Batch, kindReply, batch(maxBatch), 4 + 8*maxBatch},
		{PipelineBatch, kindRequest, batch(8), 68},
		{Snapshot, kindRequest, []byte{askSnapshot, 0, 0, 0}, 4},
		{Snapshot, kindReply, snapshot, 776},
	}
}

// TestFields takes payloads apart and makes them again, with no allocation once the parameters have their memory.
func TestFields(t *testing.T) {
	for _, c := range fieldsExamples(t) {
		out, in := c.scenario.Fields(uint32(c.kind)), c.scenario.Fields(uint32(c.kind))
		wire, again := make([]byte, c.size), make([]byte, len(c.payload))
		n := 0
		through := func() {
			if err := out.Take(c.payload); err != nil {
				t.Fatalf("%s: %v", c.scenario.Name, err)
			}
			out.Put(wire[:out.Size()])
			if err := in.Parse(wire); err != nil {
				t.Fatalf("%s: %v", c.scenario.Name, err)
			}
			var err error
			if n, err = in.Give(again); err != nil {
				t.Fatalf("%s: %v", c.scenario.Name, err)
			}
		}
		through()
		if out.Size() != c.size || out.Wire(len(c.payload)) != c.size || n != len(c.payload) || !bytes.Equal(again, c.payload) {
			t.Errorf("%s: %d B on the wire, %d told, want %d; %d B came back, the same: %v", c.scenario.Name, out.Size(),
				out.Wire(len(c.payload)), c.size, n, bytes.Equal(again, c.payload))
		}
		if n := testing.AllocsPerRun(100, through); n != 0 {
			t.Errorf("%s: %v allocations", c.scenario.Name, n)
		}
		if _, err := in.Give(again[:n-1]); err == nil {
			t.Errorf("%s: it fits into a byte less", c.scenario.Name)
		}
		for _, spoiled := range [][]byte{wire[:c.size-1], append(bytes.Clone(wire), 1), {}} {
			if err := in.Parse(spoiled); err == nil {
				t.Errorf("%s: %d B are taken for %d B", c.scenario.Name, len(spoiled), c.size)
			}
		}
		for _, spoiled := range [][]byte{c.payload[:len(c.payload)-1], append(bytes.Clone(c.payload), 1), {}} {
			if err := out.Take(spoiled); err == nil {
				t.Errorf("%s: a payload of %d B is taken for one of %d B", c.scenario.Name, len(spoiled), len(c.payload))
			}
		}
	}
	for _, s := range Table {
		for _, k := range []kind{kindMark, kindFinish, kindData, 99} {
			if s.TypedFields(uint32(k)) != nil {
				t.Errorf("%s: kind %d has parameters of its own", s.Name, k)
			}
		}
		if s.Fields == nil && !s.Payload && !s.NoTransport {
			t.Errorf("%s: its messages have no types", s.Name)
		}
	}
}

// TestRefusedFields names what is wrong.
func TestRefusedFields(t *testing.T) {
	c := fieldsExamples(t)
	directory := bytes.Clone(c[0].payload)
	directory[0]++
	for says, err := range map[string]error{
		"entry 0 of the directory":       Batch.Fields(uint32(kindRequest)).Take(directory),
		"an array of 1 items":            Batch.Fields(uint32(kindRequest)).Parse([]byte{1, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8}),
		"an array of 4294967295 items":   Batch.Fields(uint32(kindReply)).Parse(bytes.Repeat([]byte{255}, 36)),
		"a registry of 4294967295 items": Snapshot.Fields(uint32(kindReply)).Parse(bytes.Repeat([]byte{255}, 36)),
		"a string that does not end": Snapshot.Fields(uint32(kindReply)).Parse(append([]byte{1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0},
			bytes.Repeat([]byte{1}, 20)...)),
	} {
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("error %v, want one that says %q", err, says)
		}
	}
}

// FuzzFields parses anything; what it accepts is written back as it was, and what can be given is taken again.
func FuzzFields(f *testing.F) {
	examples := fieldsExamples(f)
	for i, c := range examples {
		x := c.scenario.Fields(uint32(c.kind))
		if err := x.Take(c.payload); err != nil {
			f.Fatal(err)
		}
		b := make([]byte, x.Size())
		x.Put(b)
		f.Add(byte(i), b)
	}
	payload := make([]byte, 64<<10)
	f.Fuzz(func(t *testing.T, which byte, b []byte) {
		c := examples[int(which)%len(examples)]
		var x transports.Fields = c.scenario.Fields(uint32(c.kind))
		if x.Parse(b) != nil {
			return
		}
		again := make([]byte, x.Size())
		x.Put(again)
		if !bytes.Equal(again, b) {
			t.Fatalf("%x was written back as %x", b, again)
		}
		n, err := x.Give(payload)
		if err != nil {
			return
		}
		y := c.scenario.Fields(uint32(c.kind))
		if err := y.Take(payload[:n]); err != nil {
			t.Fatalf("%x gave a payload that can't be taken: %v", b, err)
		}
		y.Put(again)
		if !bytes.Equal(again, b) {
			t.Fatalf("%x came back as %x", b, again)
		}
	})
}
