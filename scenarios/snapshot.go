package scenarios

import (
	"encoding/binary"
	"errors"
	"fmt"

	"msgbench/results"
	"msgbench/scenarios/registry"
	"msgbench/transports"
)

// snapshotRequest is the payload of a request in bytes: a u32 that says what is asked for, always askSnapshot.
const (
	snapshotRequest = 4
	askSnapshot     = 1
)

// Snapshot refreshes a local cache from a registry at the server, one request in flight. An operation is a refresh: the
// server encodes 16 items with a growing generation, the client decodes them into its cache and checks both.
var Snapshot = Scenario{
	Name:       "snapshot",
	Summary:    "refresh a local cache of 16 items from the server: 4 B request, 1301 B response, encoded and decoded",
	Pattern:    transports.RequestReply,
	Paced:      true,
	MaxMessage: func(Params) int { return envelope + registry.BenchSize },
	Fields:     snapshotFields,
	Roles:      clientServer(snapshotClient, snapshotServer),
	Join:       joinReplies(func(p Params) account { return onlyOne(p, registry.BenchSize) }),
}

func snapshotClient(s *Side) (*results.Measurement, error) {
	op := &refresher{requester: newRequester(s.conn()), request: make([]byte, envelope+snapshotRequest), items: registry.BenchItems()}
	binary.LittleEndian.PutUint32(op.request[envelope:], askSnapshot)
	m, err := drive(s, op.requester, op)
	if err != nil {
		return nil, err
	}
	m.LatencyKind = latencyKind(s.Params)
	m.Messages = m.Ops
	m.PayloadBytes = m.Ops * registry.BenchSize
	m.RequestBytes, m.ResponseBytes = envelope+snapshotRequest, envelope+registry.BenchSize
	return m, nil
}

type refresher struct {
	*requester
	request []byte
	items   []registry.Item
	cache   registry.Cache
	changes uint64
}

// do is one refresh. The cache itself refuses a generation that does not grow and whatever is not well-formed.
func (r *refresher) do(now int64) (int64, int64, error) {
	if err := r.send(r.request, now, kindRequest); err != nil {
		return 0, 0, err
	}
	reply, err := r.receive(kindReply)
	if err != nil {
		return 0, 0, err
	}
	if err := r.cache.Refresh(reply[envelope:]); err != nil {
		return 0, 0, fmt.Errorf("reply %d: %w", r.replied, err)
	}
	if c := r.cache.Changes(); c != r.changes {
		if !r.cache.Equal(r.items) {
			return 0, 0, fmt.Errorf("reply %d: the items are not those of the registry", r.replied)
		}
		r.changes = c
	}
	return 1, now, nil
}

func snapshotServer(s *Side) (*results.Measurement, error) {
	items := registry.BenchItems()
	generation := uint64(0)
	out := make([]byte, 0, envelope+registry.BenchSize)
	return serve(s, func(request []byte, seq uint64) ([]byte, error) {
		if len(request) != envelope+snapshotRequest || binary.LittleEndian.Uint32(request[envelope:]) != askSnapshot {
			return nil, fmt.Errorf("request %d does not ask for a snapshot", seq)
		}
		generation++
		out = append(out[:0], request[:envelope]...)
		var err error
		if out, err = registry.Encode(out, items, generation); err != nil {
			return nil, err
		}
		binary.LittleEndian.PutUint32(out[20:], uint32(len(out)-envelope))
		return out, nil
	})
}

// lookupBlock is how many lookups there are between two readings of the clock, which costs as much as several of them.
const lookupBlock = 1024

// Lookup gets items from that cache, without a transport. An operation is a lookup; there is no latency.
var Lookup = Scenario{
	Name:        "lookup",
	Summary:     "get items by hash and name from the snapshot's cache, in one process, without a transport; throughput only",
	NoTransport: true,
	MaxMessage:  func(Params) int { return 0 },
	Roles: func(Params) []Role {
		return []Role{{Name: results.Client, Processes: 1, Run: lookupClient}}
	},
	Join: joinLookup,
}

func lookupClient(s *Side) (*results.Measurement, error) {
	items := registry.BenchItems()
	encoded, err := registry.Encode(nil, items, 1)
	if err != nil {
		return nil, err
	}
	op := &looker{items: items}
	if err := op.cache.Refresh(encoded); err != nil {
		return nil, err
	}
	m, err := drive(s, alone{}, op)
	if err != nil {
		return nil, err
	}
	m.LatencyKind, m.Latency, m.Hops = "", nil, 0
	m.Sent, m.Received = 0, 0
	return m, nil
}

// joinLookup checks that the operations are those of whole turns.
func joinLookup(p Params, m *results.Measurement, _ []*results.Measurement) error {
	if err := words(m, results.Closed, ""); err != nil {
		return fmt.Errorf("the client %w", err)
	}
	turns, err := turnsOf(p, m)
	if err == nil {
		err = counted(turns, "turns, and there are no latencies", timed{"latencies", m.Latency, false}, timed{"service times", m.Service, false})
	}
	if err != nil {
		return fmt.Errorf("the client: %w", err)
	}
	if m.Ops != turns*lookupBlock || m.Sent+m.Received+m.Messages+m.PayloadBytes != 0 {
		return fmt.Errorf("the client counts %d lookups in %d turns of its loop, want %d in each and no messages", m.Ops, turns, lookupBlock)
	}
	return nil
}

type looker struct {
	cache registry.Cache
	items []registry.Item
}

var errLookup = errors.New("a lookup did not find its item")

// do is a block of lookups, each of the next item; each must be found and be the right one.
func (l *looker) do(now int64) (int64, int64, error) {
	for i := range lookupBlock {
		want := &l.items[i&(registry.BenchItemCount-1)]
		got, ok := l.cache.Get(want.Hash, want.Name)
		if !ok || got.Enabled != want.Enabled || len(got.Path) != len(want.Path) {
			return 0, 0, errLookup
		}
	}
	return lookupBlock, now, nil
}

// alone is the controller of a scenario without another side.
type alone struct{}

func (alone) mark() error   { return nil }
func (alone) finish() error { return nil }
