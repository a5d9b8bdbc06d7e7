package scenarios

import (
	"encoding/binary"
	"fmt"

	"msgbench/transports"
)

// batchFields are the typed parameters of batches and of their echoes: an array of u64.
func batchFields(k uint32) transports.Fields {
	if k := kind(k); k == kindRequest || k == kindReply {
		return &itemArray{items: make([]uint64, 0, maxBatch)}
	}
	return nil
}

// itemArray is serialized as u32 count and the items, u64 each.
type itemArray struct{ items []uint64 }

// countSize is the size of the count before an array, in bytes.
const countSize = 4

func (a *itemArray) Take(payload []byte) error {
	items, err := directoryItems(payload)
	if err != nil {
		return err
	}
	a.set(items)
	return nil
}

func (a *itemArray) set(items []byte) {
	a.items = a.items[:len(items)/batchItem]
	for i := range a.items {
		a.items[i] = binary.LittleEndian.Uint64(items[i*batchItem : i*batchItem+batchItem])
	}
}

func (a *itemArray) Size() int { return countSize + len(a.items)*batchItem }

// Wire leaves out the directory.
func (a *itemArray) Wire(payload int) int {
	return countSize + payload*batchItem/(batchEntry+batchItem)
}

func (a *itemArray) Put(b []byte) {
	binary.LittleEndian.PutUint32(b, uint32(len(a.items)))
	putItems(b[countSize:], a.items)
}

func putItems(b []byte, items []uint64) {
	for i, x := range items {
		binary.LittleEndian.PutUint64(b[i*batchItem:i*batchItem+batchItem], x)
	}
}

func (a *itemArray) Parse(b []byte) error {
	if len(b) < countSize {
		return fmt.Errorf("%d B are no array", len(b))
	}
	n := binary.LittleEndian.Uint32(b)
	if n < minBatch || n > maxBatch || len(b) != countSize+int(n)*batchItem {
		return fmt.Errorf("an array of %d items in %d B, want %d to %d items of %d B after the count", n, len(b), minBatch, maxBatch, batchItem)
	}
	a.set(b[countSize:])
	return nil
}

func (a *itemArray) Give(payload []byte) (int, error) {
	n := len(a.items)
	size := n * (batchEntry + batchItem)
	if size > len(payload) {
		return 0, fmt.Errorf("a batch of %d items where messages have at most %d B", n, len(payload))
	}
	putDirectory(payload, n)
	putItems(payload[n*batchEntry:], a.items)
	return size, nil
}
