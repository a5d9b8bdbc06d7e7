package scenarios

import (
	"fmt"
	"strconv"

	"msgbench/results"
	"msgbench/transports"
)

// The modes of pipeline: cycle sends depth requests and then receives as many replies, and its latency is the cycle; window
// always has depth requests in flight, and its latency is that of each request.
const (
	modeCycle  = "cycle"
	modeWindow = "window"
)

const (
	defaultDepth = 16
	maxDepth     = 1024
)

var depthDim = Dim{Name: "depth", Default: fixedDefault(strconv.Itoa(defaultDepth)), Check: numberFrom1(maxDepth)}

// Pipeline keeps several requests in flight. An operation is a message.
var Pipeline = Scenario{
	Name:    "pipeline",
	Summary: "depth requests in flight; mode cycle: send depth, receive depth (latency: the cycle); mode window: always depth in flight",
	Pattern: transports.Pipelined,
	Payload: true,
	Dims: []Dim{depthDim, {Name: "mode", Default: fixedDefault(modeCycle), Check: func(v string, _ int) error {
		if v != modeCycle && v != modeWindow {
			return fmt.Errorf("%q is neither %s nor %s", v, modeCycle, modeWindow)
		}
		return nil
	}}},
	MaxMessage: func(p Params) int { return envelope + p.Payload },
	Roles:      clientServer(pipelineClient, counterServer),
	Join: joinReplies(func(p Params) account {
		a := onlyOne(p, p.Payload)
		if p.Mode == modeWindow {
			a.ahead = int64(max(p.Depth, 1)) - 1
			return a
		}
		a.kind, a.messages[1] = results.Cycle, int64(max(p.Depth, 1))
		return a
	}),
}

// PipelineBatch keeps several batches in flight, in cycles. An operation is an item.
var PipelineBatch = Scenario{
	Name:       "pipeline-batch",
	Summary:    "depth batches of 2 to 1000 items in flight: send depth, receive depth (latency: the cycle); throughput counts items",
	Pattern:    transports.Pipelined,
	Dims:       []Dim{depthDim},
	MaxMessage: func(Params) int { return batchMessage },
	Fields:     batchFields,
	Roles:      clientServer(pipelineBatchClient, batchServer),
	Join: joinReplies(func(p Params) account {
		a := batches(p, int64(max(p.Depth, 1)))
		a.kind = results.Cycle
		return a
	}),
}

// effectiveDepth is how many messages of that size this scenario may have in flight on one thread: a client that sends
// more than the buffers of one direction take, while its server waits for room in the other one, would never receive.
func effectiveDepth(s *Side, size int) int {
	return max(min(s.Params.Depth, s.conn().InFlight(size)), 1)
}

func pipelineClient(s *Side) (*results.Measurement, error) {
	depth := effectiveDepth(s, envelope+s.Params.Payload)
	p := pipeliner{requester: newRequester(s.conn()), message: s.message(), depth: depth}
	var op operation = &cycler{p}
	if s.Params.Mode == modeWindow {
		op = &windower{pipeliner: p, stamps: make([]int64, depth)}
	}
	m, err := drive(s, p.requester, op)
	if err != nil {
		return nil, err
	}
	m.LatencyKind = results.Cycle
	m.Messages, m.Sent, m.Received = m.Ops, m.Ops, m.Ops
	if s.Params.Mode == modeWindow {
		m.LatencyKind = results.RTT
		// The last ones in flight are received after the window.
		m.Sent += int64(depth - 1)
		m.Received = m.Sent
	}
	m.PayloadBytes = m.Ops * int64(s.Params.Payload)
	m.RequestBytes, m.ResponseBytes = int64(len(p.message)), int64(len(p.message))
	m.Facts = map[string]string{"depth": strconv.Itoa(depth)}
	return m, nil
}

type pipeliner struct {
	*requester
	message counterMessage
	depth   int
}

func (p *pipeliner) request(now int64) error {
	p.message.put(p.seq + 1)
	return p.send(p.message, now, kindRequest)
}

func (p *pipeliner) reply() error {
	reply, err := p.receive(kindReply)
	if err != nil {
		return err
	}
	return p.message.check(reply, p.replied)
}

type cycler struct{ pipeliner }

// do is one cycle.
func (c *cycler) do(now int64) (int64, int64, error) {
	for range c.depth {
		if err := c.request(now); err != nil {
			return 0, 0, err
		}
	}
	for range c.depth {
		if err := c.reply(); err != nil {
			return 0, 0, err
		}
	}
	return int64(c.depth), now, nil
}

type windower struct {
	pipeliner
	stamps []int64 // when each request in flight was sent, by sequence number
}

func (w *windower) put(now int64) error {
	if err := w.request(now); err != nil {
		return err
	}
	w.stamps[w.seq%uint64(w.depth)] = now
	return nil
}

// prime puts all but one request in flight.
func (w *windower) prime(now int64) error {
	for range w.depth - 1 {
		if err := w.put(now); err != nil {
			return err
		}
	}
	return nil
}

// drain receives what is in flight still.
func (w *windower) drain() error {
	for w.replied < w.seq {
		if err := w.reply(); err != nil {
			return err
		}
	}
	return nil
}

// do sends one more request and receives the reply to the oldest.
func (w *windower) do(now int64) (int64, int64, error) {
	if err := w.put(now); err != nil {
		return 0, 0, err
	}
	if err := w.reply(); err != nil {
		return 0, 0, err
	}
	return 1, w.stamps[w.replied%uint64(w.depth)], nil
}

func pipelineBatchClient(s *Side) (*results.Measurement, error) {
	depth := effectiveDepth(s, batchMessage)
	op := &batchCycler{batcher: newBatcher(s.conn()), flight: make([]batch, depth)}
	m, err := drive(s, op.requester, op)
	if err != nil {
		return nil, err
	}
	m.LatencyKind = results.Cycle
	op.fill(m, m.Sent*int64(depth))
	m.Facts = map[string]string{"depth": strconv.Itoa(depth)}
	return m, nil
}

type batchCycler struct {
	*batcher
	flight []batch
}

// do is one cycle of batches.
func (c *batchCycler) do(now int64) (items, since int64, err error) {
	for i := range c.flight {
		if c.flight[i], err = c.next(now); err != nil {
			return 0, 0, err
		}
	}
	for _, x := range c.flight {
		if err := c.echo(x); err != nil {
			return 0, 0, err
		}
		items += int64(x.n)
	}
	return items, now, nil
}
