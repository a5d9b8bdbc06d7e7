package scenarios

import (
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"msgbench/measure"
	"msgbench/results"
	"msgbench/transports"
)

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
