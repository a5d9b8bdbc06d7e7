package measure

import (
	"encoding/binary"
	"os"
	"testing"

	"msgbench/results/hist"
)

// operation is what a closed loop does apart from the transport: number the message, stamp it, and afterwards verify the
// reply and count its latency.
type operation struct {
	msg  [40]byte
	seq  uint64
	sent int64
	lost int64
	h    *hist.Hist
}

func newOperation() *operation { return &operation{h: hist.New(), sent: Now()} }

// bare is the loop without any measuring; a store stands for the send.
func (o *operation) bare() {
	o.seq++
	o.msg[32]++
}

// recorded is the same with record and verify. One clock reading an operation is enough in a closed loop: a reply's time is
// the next message's stamp.
func (o *operation) recorded() {
	o.seq++
	binary.LittleEndian.PutUint64(o.msg[0:], o.seq)
	binary.LittleEndian.PutUint64(o.msg[8:], uint64(o.sent))
	o.msg[32]++
	if binary.LittleEndian.Uint64(o.msg[0:]) != o.seq {
		o.lost++
	}
	now := Now()
	o.h.Record(now - o.sent)
	o.sent = now
}

// recordedNoClock leaves the clock out, whose cost is the machine's.
func (o *operation) recordedNoClock() {
	o.seq++
	binary.LittleEndian.PutUint64(o.msg[0:], o.seq)
	binary.LittleEndian.PutUint64(o.msg[8:], uint64(o.sent))
	o.msg[32]++
	if binary.LittleEndian.Uint64(o.msg[0:]) != o.seq {
		o.lost++
	}
	o.h.Record(int64(o.seq & 0xffff))
}

func BenchmarkOperation(b *testing.B) {
	b.Run("bare", func(b *testing.B) {
		b.ReportAllocs()
		o := newOperation()
		for b.Loop() {
			o.bare()
		}
	})
	b.Run("clock", func(b *testing.B) {
		b.ReportAllocs()
		o := newOperation()
		for b.Loop() {
			o.bare()
			o.sent = Now()
		}
	})
	b.Run("recorded-without-clock", func(b *testing.B) {
		b.ReportAllocs()
		o := newOperation()
		for b.Loop() {
			o.recordedNoClock()
		}
	})
	b.Run("recorded", func(b *testing.B) {
		b.ReportAllocs()
		o := newOperation()
		for b.Loop() {
			o.recorded()
		}
	})
}

func TestRecordingAllocates(t *testing.T) {
	o := newOperation()
	if n := testing.AllocsPerRun(10_000, o.recorded); n != 0 {
		t.Errorf("%v allocations an operation", n)
	}
	if o.lost != 0 {
		t.Errorf("%d replies did not verify", o.lost)
	}
}

func BenchmarkCPUClock(b *testing.B) {
	c, err := ProcessCPU(os.Getpid())
	if err != nil {
		b.Skip(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		c.Read()
	}
}

func BenchmarkGCReader(b *testing.B) {
	r := NewGCReader()
	b.ReportAllocs()
	for b.Loop() {
		r.Read()
	}
}
