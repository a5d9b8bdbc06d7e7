package scenarios

import (
	"encoding/binary"
	"fmt"

	"msgbench/results"
	"msgbench/transports"
)

// A batch of n items is a directory of n entries {u32 offset, u32 length}, offsets from the end of the directory, and then
// the items, each a u64: 16·n bytes, little-endian. The sizes of batches are drawn from xorshift32 with seed 12345: from 2
// to 1,000 items, 500.87 in the mean.
const (
	minBatch     = 2
	maxBatch     = 1000
	batchItem    = 8
	batchEntry   = 8
	batchSeed    = 12345
	batchMessage = envelope + maxBatch*(batchEntry+batchItem)
)

// Batch echoes batches of items, each plus one, one batch in flight. An operation is an item; the target rate is in batches.
var Batch = Scenario{
	Name:       "batch",
	Summary:    "one message of 2 to 1000 u64 items, all echoed plus one, one in flight; throughput counts items, the rate batches",
	Pattern:    transports.RequestReply,
	Paced:      true,
	MaxMessage: func(Params) int { return batchMessage },
	Fields:     batchFields,
	Roles:      clientServer(batchClient, batchServer),
	Join:       joinReplies(func(p Params) account { return batches(p, 1) }),
}

// batcher makes batches and checks their echoes. Item j of a batch is base+j, where base grows from batch to batch.
type batcher struct {
	*requester
	random  uint32
	base    uint64
	message []byte
	bytes   int64 // of all messages of the window
}

func newBatcher(c transports.Conn) *batcher {
	return &batcher{requester: newRequester(c), random: batchSeed, message: make([]byte, batchMessage)}
}

// batch is what the echo of one must hold.
type batch struct {
	n    int
	base uint64
}

// next makes the next batch in the message and sends it.
func (b *batcher) next(now int64) (batch, error) {
	b.random = xorshift32(b.random)
	n := int(b.random%(maxBatch-minBatch+1)) + minBatch
	msg := b.message[:envelope+n*(batchEntry+batchItem)]
	putDirectory(msg[envelope:], n)
	items := msg[envelope+n*batchEntry:]
	for j := range n {
		binary.LittleEndian.PutUint64(items[j*batchItem:j*batchItem+batchItem], b.base+uint64(j))
	}
	x := batch{n, b.base}
	b.base += uint64(n)
	b.bytes += int64(len(msg))
	return x, b.send(msg, now, kindRequest)
}

func putDirectory(p []byte, n int) {
	for j := range n {
		binary.LittleEndian.PutUint64(p[j*batchEntry:], uint64(j*batchItem)|batchItem<<32)
	}
}

// echo receives a reply and checks every byte of it.
func (b *batcher) echo(x batch) error {
	reply, err := b.receive(kindReply)
	if err != nil {
		return err
	}
	items, err := batchItems(reply, b.replied)
	if err != nil {
		return err
	}
	if len(items) != x.n*batchItem {
		return fmt.Errorf("reply %d carries %d items, want %d", b.replied, len(items)/batchItem, x.n)
	}
	for j := range x.n {
		if got := binary.LittleEndian.Uint64(items[j*batchItem : j*batchItem+batchItem]); got != x.base+uint64(j)+1 {
			return fmt.Errorf("reply %d: item %d is %d, want %d", b.replied, j, got, x.base+uint64(j)+1)
		}
	}
	return nil
}

// batchItems checks the directory of a batch and returns its items.
func batchItems(msg []byte, seq uint64) ([]byte, error) {
	items, err := directoryItems(msg[envelope:])
	if err != nil {
		return nil, fmt.Errorf("message %d: %w", seq, err)
	}
	return items, nil
}

// directoryItems checks the directory of a batch's payload and returns its items.
func directoryItems(p []byte) ([]byte, error) {
	n := len(p) / (batchEntry + batchItem)
	if len(p)%(batchEntry+batchItem) != 0 || n < minBatch || n > maxBatch {
		return nil, fmt.Errorf("%d B are not a batch of %d to %d items", len(p), minBatch, maxBatch)
	}
	directory, items := p[:n*batchEntry], p[n*batchEntry:]
	for j := range n {
		if e := binary.LittleEndian.Uint64(directory[j*batchEntry : j*batchEntry+batchEntry]); e != uint64(j*batchItem)|batchItem<<32 {
			return nil, fmt.Errorf("entry %d of the directory is wrong", j)
		}
	}
	return items, nil
}

// do sends one batch and checks its echo.
func (b *batcher) do(now int64) (int64, int64, error) {
	x, err := b.next(now)
	if err != nil {
		return 0, 0, err
	}
	return int64(x.n), now, b.echo(x)
}

func (b *batcher) begin() { b.bytes = 0 }

func batchClient(s *Side) (*results.Measurement, error) {
	b := newBatcher(s.conn())
	m, err := drive(s, b.requester, b)
	if err != nil {
		return nil, err
	}
	m.LatencyKind = latencyKind(s.Params)
	b.fill(m, m.Sent)
	return m, nil
}

// fill adds what the batches of a window of so many messages were.
func (b *batcher) fill(m *results.Measurement, messages int64) {
	m.Messages, m.Sent, m.Received = messages, messages, messages
	m.PayloadBytes = b.bytes - messages*envelope
	m.RequestBytes = b.bytes / max(messages, 1)
	m.ResponseBytes = m.RequestBytes
}

// batches is the account of turns of at most so many batches.
func batches(p Params, most int64) account {
	return account{kind: latencyKind(p), messages: [2]int64{1, most}, items: [2]int64{minBatch, maxBatch}, payload: batchEntry + batchItem}
}

// batchServer answers each batch with all its items plus one.
func batchServer(s *Side) (*results.Measurement, error) {
	out := make([]byte, smallMessage)
	return serve(s, func(request []byte, seq uint64) ([]byte, error) {
		if _, err := batchItems(request, seq); err != nil {
			return nil, err
		}
		reply := answer(out, request)
		p := reply[envelope:]
		items := p[len(p)/2:] // an entry is as long as its item
		for len(items) >= batchItem {
			binary.LittleEndian.PutUint64(items, binary.LittleEndian.Uint64(items)+1)
			items = items[batchItem:]
		}
		return reply, nil
	})
}
