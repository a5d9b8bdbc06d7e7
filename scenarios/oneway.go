package scenarios

import (
	"errors"
	"fmt"
	"math"

	"msgbench/measure"
	"msgbench/results"
	"msgbench/results/hist"
)

// tracker follows the sequence numbers of one-way messages, as one receiver sees them. Where nothing may be lost, a wrong
// number is an error; where the transport drops by design, it is counted.
type tracker struct {
	lossy                                 bool
	next                                  uint64 // the number that is expected
	received, lost, duplicated, reordered int64
	// seen holds which of the last numbers have come, bit n%seenBits for number n, so that a late message is told from one
	// that comes twice.
	seen [seenBits / 64]uint64
}

// seenBits is how many numbers back a late message is still known. One that is even later counts as duplicated, and as lost.
const seenBits = 8192

// begin starts the counts anew; first is the number that is expected next.
func (t *tracker) begin(first uint64) {
	*t = tracker{lossy: t.lossy, next: first}
	for i := range t.seen { // what came before is none of ours, so that it would count as duplicated
		t.seen[i] = math.MaxUint64
	}
}

// see counts the message of that number. The error, a sequenceError, can only come where nothing may be lost. A message
// counts as received when it is neither late beyond recall nor a duplicate; sent = received + lost after end.
func (t *tracker) see(seq uint64) error {
	if seq != t.next {
		return t.outOfTurn(seq)
	}
	t.received++
	t.next++
	if t.lossy {
		t.seen[seq%seenBits/64] |= 1 << (seq % 64)
	}
	return nil
}

func (t *tracker) outOfTurn(seq uint64) error {
	switch {
	case !t.lossy:
		return &sequenceError{seq, t.next}
	case seq > t.next:
		t.skip(seq)
		return t.see(seq)
	case t.next-seq > seenBits || t.seen[seq%seenBits/64]&(1<<(seq%64)) != 0:
		t.duplicated++
	default:
		t.seen[seq%seenBits/64] |= 1 << (seq % 64)
		t.received++
		t.reordered++
		t.lost--
	}
	return nil
}

// skip counts all messages before seq that have not come as lost; they may still come late.
func (t *tracker) skip(seq uint64) {
	t.lost += int64(seq - t.next)
	for ; t.next < seq; t.next++ {
		if seq-t.next <= seenBits {
			t.seen[t.next%seenBits/64] &^= 1 << (t.next % 64)
		} else {
			t.next = seq - seenBits - 1
		}
	}
}

// end counts what is missing at the end: after is the number after the last message sent.
func (t *tracker) end(after uint64) error {
	switch {
	case after < t.next:
		return fmt.Errorf("message %d came, but the sender's last one is %d", t.next-1, after-1)
	case after > t.next && !t.lossy:
		return &sequenceError{after, t.next}
	}
	t.skip(after)
	return nil
}

// fill adds the counts to a measurement.
func (t *tracker) fill(m *results.Measurement) {
	m.Received += t.received
	m.Lost += t.lost
	m.Duplicated += t.duplicated
	m.Reordered += t.reordered
}

// checkData compares every byte of a one-way message with what was sent under its own number, and returns that number and
// the stamp. m is the receiver's own copy of the message.
func (m counterMessage) checkData(msg []byte) (seq uint64, stamp int64, err error) {
	seq = seqOf(msg)
	if err := checkEnvelope(msg, seq, kindData); err != nil {
		return 0, 0, err
	}
	return seq, stampOf(msg), m.compare("message", msg, seq, seq)
}

// oneWay records the latencies of one-way messages from the stamps in them. At a fixed rate it also knows when each of them
// was intended to go out: the start of the schedule comes with the mark message.
type oneWay struct {
	sent       *hist.Hist // sent → received
	intended   *hist.Hist // intended → received; nil where nothing is intended at any time
	schedule   measure.Schedule
	first      uint64 // number of the first message of the schedule
	at, step   int64  // its operation is at, that of each further one step more: several senders share a schedule
	clockError int64  // bound of the error of each, in ns
}

// newOneWay makes the recorder of the sender of that index among so many, whose messages take turns in a schedule of rate
// operations per second; 0: there is no schedule.
func newOneWay(rate, index, senders int) *oneWay {
	step, cost := measure.Resolution(2000)
	o := &oneWay{sent: hist.New(), at: int64(index), step: int64(senders), clockError: step + cost}
	if rate > 0 {
		o.intended = hist.New()
		o.schedule.Rate = int64(rate)
	}
	return o
}

// begin forgets what was recorded; the schedule starts at that time with the message of that number.
func (o *oneWay) begin(start int64, first uint64) {
	o.sent.Reset()
	if o.intended != nil {
		o.intended.Reset()
	}
	o.schedule.Start, o.first = start, first
}

// errClocks is a message that came before it was sent.
var errClocks = errors.New("the clocks of the two sides do not agree")

// record notes a message that was stamped with sent and came at now. Before begin only its service time counts. It allocates
// nothing.
func (o *oneWay) record(seq uint64, sent, now int64) error {
	if now < sent {
		return fmt.Errorf("%w: message %d came %d ns before it was sent", errClocks, seq, sent-now)
	}
	o.sent.Record(now - sent)
	if o.intended != nil && o.schedule.Start != 0 {
		due := o.schedule.At(o.at + int64(seq-o.first)*o.step)
		if sent < due {
			return fmt.Errorf("%w: message %d was sent %d ns before its time", errClocks, seq, due-sent)
		}
		o.intended.Record(now - due)
	}
	return nil
}

// fill adds the latencies to a measurement: response time where the messages were due at a time, else the time from sending.
func (o *oneWay) fill(m *results.Measurement) {
	m.LatencyKind = results.OneWay
	m.ClockErrorNs = o.clockError
	merge := func(into **hist.Hist, h *hist.Hist) {
		if *into == nil {
			*into = hist.New()
		}
		(*into).Merge(h)
	}
	if o.intended == nil {
		merge(&m.Latency, o.sent)
		return
	}
	merge(&m.Latency, o.intended)
	merge(&m.Service, o.sent)
}

// timeNamespace is what a receiver puts into the stamp of its answer to a mark: the inode of its time namespace; 0 where the
// system has none.
func timeNamespace() int64 { return int64(measure.TimeNamespace()) }

// sameTime says why the clocks of two processes can't be compared, given the other's time namespace.
func sameTime(own, other int64) error {
	if own != other {
		return fmt.Errorf("one-way: the two sides are in different time namespaces (%d and %d): their clocks can't be compared", own, other)
	}
	return nil
}

// oneWayClock says why the clock of this machine can't serve for one-way latencies.
func oneWayClock() error {
	if err := measure.StableClock(); err != nil {
		return fmt.Errorf("one-way: %w", err)
	}
	return nil
}
