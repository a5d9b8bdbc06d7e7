package scenarios

import (
	"fmt"
	"math"

	"msgbench/measure"
	"msgbench/results/hist"
	"msgbench/transports"
)

// streamSender sends the messages of one channel. Those of a schedule take turns: channel i of c has the operations i, i+c, ….
type streamSender struct {
	conn        transports.Conn
	cork        transports.Corker // nil where each message goes by itself
	p           Params
	index, step int64
	every       int64
	most        int64 // messages of the window; 0: by time
	message     counterMessage
	answer      []byte
	seq         uint64
	n           int64 // messages of this window
	start       int64
	pacer       measure.Pacer
	series      *series
	lateness    *hist.Hist // of a schedule
}

func newStreamSender(s *Side, index int) *streamSender {
	n := share(s.Params.Count, index, len(s.Conns))
	x := &streamSender{
		conn: s.Conns[index], p: s.Params, index: int64(index), step: int64(len(s.Conns)), every: timedEvery(s.Params, n), most: n,
		message: s.message(), answer: make([]byte, envelope), series: newSeries(s.Params),
		pacer: measure.Pacer{Yield: !s.LockThread},
	}
	if s.Params.Rate > 0 {
		x.lateness = hist.New()
	}
	if x.every > 1 {
		x.cork, _ = x.conn.(transports.Corker)
	}
	return x
}

func (x *streamSender) begin(start int64) {
	x.n, x.start, x.pacer.SpunNs = 0, start, 0
	x.series.begin(start)
	if x.lateness != nil {
		x.lateness.Reset()
	}
}

// warmUp runs the same loop as the window until it has run long enough, in time and in messages of all channels, or nothing
// more is due before its latest end.
func (x *streamSender) warmUp(begun int64) error {
	x.begin(begun)
	last := begun + int64(x.p.WarmupMax)
	step := begun
	for {
		step += max(int64(x.p.Warmup)/4, 1e6)
		until := min(step, last)
		var err error
		if x.p.Rate > 0 {
			err = x.paced(math.MaxInt64, until)
		} else {
			err = x.flood(until, math.MaxInt64)
		}
		if err != nil {
			return err
		}
		now := measure.Now()
		if until == last || now-begun >= int64(x.p.Warmup) && x.n*x.step >= x.p.WarmupOps {
			return nil
		}
		step = max(step, now)
	}
}

// window sends the messages that count and waits until the receiver has them all.
func (x *streamSender) window() error {
	var err error
	switch {
	case x.p.Rate > 0:
		n := messagesDue(x.p)
		end := measure.Schedule{Start: x.start, Rate: int64(x.p.Rate)}.At(n)
		until := end
		if x.p.Count > 0 { // all of them, however late
			until = math.MaxInt64
		}
		if err = x.paced(n, until); err == nil {
			x.pacer.Wait(end)
		}
	case x.most > 0:
		err = x.flood(math.MaxInt64, x.most)
	case x.p.Count == 0:
		err = x.flood(x.start+int64(x.p.Window), math.MaxInt64)
	}
	if err != nil {
		return err
	}
	return x.control(kindFinish, 0)
}

// flood sends as fast as it goes, until that time or until so many are sent. The stamp is the last reading of the clock. What is
// sent between two readings may go with one call of the system.
func (x *streamSender) flood(until, most int64) error {
	for t := measure.Now(); t < until && x.n < most; {
		k := min(x.every, most-x.n)
		if x.cork != nil {
			x.cork.Cork()
		}
		for range k {
			if err := x.send(t); err != nil {
				return err
			}
		}
		if x.cork != nil {
			if err := x.cork.Uncork(); err != nil {
				return fmt.Errorf("send messages up to %d: %w", x.seq, err)
			}
		}
		x.n += k
		t = measure.Now()
		x.series.add(t, k)
	}
	return nil
}

// paced sends what is due: at its time, or at once when that has passed. None is skipped; it stops before the first that is
// due at until, when that time has come, or before operation n of all channels.
func (x *streamSender) paced(n, until int64) error {
	schedule := measure.Schedule{Start: x.start, Rate: int64(x.p.Rate)}
	for {
		op := x.index + x.n*x.step
		due := schedule.At(op)
		if op >= n || due >= until {
			return nil
		}
		sent, late := measure.Now(), int64(0)
		if sent < due {
			sent = x.pacer.Wait(due)
			late = sent - due
		}
		if sent >= until {
			return nil
		}
		if err := x.send(sent); err != nil {
			return err
		}
		x.n++
		// Not ours is what the previous Send took: lateness counts from the later of the due time and its return.
		x.lateness.Record(late)
		x.series.add(sent, 1)
	}
}

func (x *streamSender) send(stamp int64) error {
	x.seq++
	x.message.put(x.seq)
	putEnvelope(x.message, x.seq, stamp, kindData)
	if err := x.conn.Send(x.message); err != nil {
		return fmt.Errorf("send message %d: %w", x.seq, err)
	}
	return nil
}

// control sends a mark or a finish and waits for the answer, which comes when all before it was received.
func (x *streamSender) control(k kind, stamp int64) error {
	x.seq++
	putEnvelope(x.answer, x.seq, stamp, k)
	if err := x.conn.Send(x.answer); err != nil {
		return fmt.Errorf("send message %d: %w", x.seq, err)
	}
	answer, err := x.conn.Recv()
	if err != nil {
		return fmt.Errorf("receive the answer to message %d: %w", x.seq, err)
	}
	if err := checkEnvelope(answer, x.seq, k); err != nil {
		return fmt.Errorf("answer: %w", err)
	}
	if k == kindMark {
		return sameTime(timeNamespace(), stampOf(answer))
	}
	return nil
}
