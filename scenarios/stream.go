package scenarios

import (
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"msgbench/measure"
	"msgbench/results"
	"msgbench/results/hist"
	"msgbench/transports"
)

// Reading the clock costs as much as a small message, so it is read once for so many of them.
const (
	clockEvery     = 32
	clockEachBytes = 4096 // messages from this size on are timed one by one
	clockEachCount = 4096 // and so are those of windows of so few messages
)

// timedEvery is for how many messages of a channel the clock is read once.
func timedEvery(p Params, share int64) int64 {
	if p.Rate > 0 || p.Payload >= clockEachBytes || p.Count > 0 && share <= clockEachCount {
		return 1
	}
	return clockEvery
}

// share is how many of the count's messages are those of that channel; 0 where the window is not one of a count.
func share(count int64, index, channels int) int64 {
	n := count / int64(channels)
	if int64(index) < count%int64(channels) {
		n++
	}
	return n
}

// streamSender sends the messages of one channel. Those of a schedule take turns: channel i of c has the operations i, i+c, ….
type streamSender struct {
	conn        transports.Conn
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

// flood sends as fast as it goes, until that time or until so many are sent. The stamp is the last reading of the clock.
func (x *streamSender) flood(until, most int64) error {
	for t := measure.Now(); t < until && x.n < most; {
		k := min(x.every, most-x.n)
		for range k {
			if err := x.send(t); err != nil {
				return err
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

// streamReceiver receives the messages of one channel and checks all their bytes.
type streamReceiver struct {
	conn   transports.Conn
	p      Params
	every  int64
	most   int64 // messages of the window; 0: by time
	span   int64 // its planned length in ns, where it is one by time
	own    counterMessage
	marked func()             // at the mark, before it is answered
	rss    *measure.RSSReader // of one of the channels

	tracker  tracker
	latency  *oneWay // nil at max: it would only tell how long the buffers are
	start    int64
	last     int64 // when a message of the window was received
	pending  int64 // messages since then
	noted    int64 // messages of the window before them
	series   *series
	thirds   [3]int64
	sizes    []int64 // resident sizes
	nextSize int64
}

func newStreamReceiver(s *Side, index int) *streamReceiver {
	p := s.Params
	n := share(p.Count, index, len(s.Conns))
	x := &streamReceiver{
		conn: s.Conns[index], p: p, every: timedEvery(p, n), most: n, span: max(planned(p), int64(p.Window)),
		own: s.message(), series: newSeries(p), marked: func() {}, nextSize: math.MaxInt64,
	}
	x.sizes = make([]int64, 0, len(x.series.steps)/10+1)
	if p.Rate > 0 {
		x.span = planned(p)
		x.latency = newOneWay(p.Rate, index, len(s.Conns))
	}
	x.tracker.begin(1)
	return x
}

// run receives until the sender has finished.
func (x *streamReceiver) run() error {
	for {
		msg, err := x.conn.Recv()
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = errors.New("the client went away before it had finished")
			}
			return fmt.Errorf("receive message %d: %w", x.tracker.next, err)
		}
		if kindOf(msg) == kindData {
			if err := x.data(msg); err != nil {
				return err
			}
			continue
		}
		done, err := x.control(msg)
		if done || err != nil {
			return err
		}
	}
}

func (x *streamReceiver) data(msg []byte) error {
	seq, stamp, err := x.own.checkData(msg)
	if err != nil {
		return err
	}
	if err := x.tracker.see(seq); err != nil {
		return err
	}
	x.pending++
	if x.pending < x.every {
		return nil
	}
	now := measure.Now()
	x.note(now)
	if x.latency != nil {
		return x.latency.record(seq, stamp, now)
	}
	return nil
}

// note counts the messages since the last reading of the clock.
func (x *streamReceiver) note(now int64) {
	third := int64(0)
	if x.most > 0 {
		third = x.noted * 3 / x.most
	} else {
		third = max(now-x.start, 0) * 3 / x.span
	}
	x.thirds[min(third, 2)] += x.pending
	x.series.add(now, x.pending)
	x.noted += x.pending
	x.last, x.pending = now, 0
	if now >= x.nextSize {
		x.size(now)
	}
}

// size notes the resident size, about each second.
func (x *streamReceiver) size(now int64) {
	if len(x.sizes) < cap(x.sizes) {
		x.sizes = append(x.sizes, x.rss.Read())
	}
	x.nextSize = x.start + (max(now-x.start, 0)/int64(time.Second)+1)*int64(time.Second)
}

// control answers a mark or a finish.
func (x *streamReceiver) control(msg []byte) (done bool, err error) {
	k := kindOf(msg)
	if k != kindMark && k != kindFinish {
		return false, fmt.Errorf("message %d is of kind %d, which a sender does not send", seqOf(msg), k)
	}
	if err := checkEnvelope(msg, x.tracker.next, k); err != nil {
		return false, err
	}
	if len(msg) != envelope {
		return false, fmt.Errorf("message %d of kind %d carries %d B, want none", seqOf(msg), k, len(msg)-envelope)
	}
	if k == kindFinish && x.pending > 0 {
		x.note(measure.Now())
	}
	seq := seqOf(msg)
	if k == kindMark {
		x.begin(stampOf(msg), seq+1)
		x.marked()
	}
	putEnvelope(msg, seq, timeNamespace(), k)
	if err := x.conn.Send(msg); err != nil {
		return false, fmt.Errorf("send the answer to message %d: %w", seq, err)
	}
	return k == kindFinish, nil
}

// begin begins the window of that start.
func (x *streamReceiver) begin(start int64, first uint64) {
	x.tracker.begin(first)
	x.start, x.last, x.pending, x.noted, x.thirds, x.sizes = start, start, 0, 0, [3]int64{}, x.sizes[:0]
	x.series.begin(start)
	if x.latency != nil {
		x.latency.begin(start, first)
	}
	if x.rss != nil {
		x.size(start)
	}
}

// fill adds what was measured to the measurement of all channels, whose window is known.
func (x *streamReceiver) fill(m *results.Measurement) {
	x.tracker.fill(m)
	for i, n := range x.thirds {
		m.Thirds[i] += n
	}
	s := seriesOf(m)
	s.Received = x.series.addTo(s.Received, m.WindowNs)
	if x.rss != nil {
		s.RSS = x.sizes
	}
	if x.latency != nil {
		x.latency.fill(m)
	}
}
