package registry

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// The layout, in bytes; docs/wire-snapshot.md has the offsets of the fields.
const (
	headerSize = 24
	entrySize  = 8  // of the directory
	fixedSize  = 32 // of an item, before its strings
	alignment  = 8

	version        = 1 // u16, and u16 flags = 0 after it: one u32 for both
	systemdEnabled = 1
)

// align rounds up to where the next item may begin.
func align(n int) int { return (n + alignment - 1) &^ (alignment - 1) }

// itemSize is how many bytes an item takes, without what pads it to the next one.
func itemSize(nameLen, pathLen int) int { return fixedSize + nameLen + 1 + pathLen + 1 }

// Encode appends the message of a generation to dst and returns the longer slice. It allocates only where dst has no room;
// BenchSize bytes are enough for BenchItems. On an error (too many items, an item that has no encoding, generation 0)
// nothing is appended. It does not look for items with the same hash and name: Cache.Refresh does.
func Encode(dst []byte, items []Item, generation uint64) ([]byte, error) {
	if generation == 0 {
		return dst, errors.New("generation 0: generations count from 1")
	}
	if len(items) > MaxItems {
		return dst, fmt.Errorf("%d items, at most %d fit", len(items), MaxItems)
	}
	area := 0
	for i := range items {
		it := &items[i]
		if err := it.check(); err != nil {
			return dst, fmt.Errorf("item %d: %w", i, err)
		}
		area = align(area) + itemSize(len(it.Name), len(it.Path))
	}
	first := headerSize + entrySize*len(items)
	begin := len(dst)
	dst = slices.Grow(dst, first+area)[:begin+first+area]
	m := dst[begin:]

	le := binary.LittleEndian
	le.PutUint32(m[0:], version)
	le.PutUint32(m[4:], uint32(len(items)))
	le.PutUint32(m[8:], systemdEnabled)
	le.PutUint32(m[12:], 0)
	le.PutUint64(m[16:], generation)
	at := 0
	for i := range items {
		at = align(at)
		n := putItem(m[first+at:], &items[i])
		entry := m[headerSize+entrySize*i:]
		le.PutUint32(entry, uint32(at))
		le.PutUint32(entry[4:], uint32(n))
		at += n
	}
	return dst, nil
}

// putItem writes an item and the zeros up to the next one, if there is room for one, and returns the item's own size.
func putItem(b []byte, it *Item) int {
	path := fixedSize + len(it.Name) + 1
	size := path + len(it.Path) + 1
	le := binary.LittleEndian
	_ = b[fixedSize-1]
	le.PutUint32(b[0:], version)
	le.PutUint32(b[4:], it.Hash)
	le.PutUint32(b[8:], it.Options)
	le.PutUint32(b[12:], it.Enabled)
	le.PutUint32(b[16:], fixedSize)
	le.PutUint32(b[20:], uint32(len(it.Name)))
	le.PutUint32(b[24:], uint32(path))
	le.PutUint32(b[28:], uint32(len(it.Path)))
	// Zeros first, in one store: they end behind the item's fixed part, and the strings may cover some of them again.
	if end := align(size); end <= len(b) {
		le.PutUint64(b[end-8:], 0)
	}
	copy(b[fixedSize:], it.Name)
	b[path-1] = 0
	copy(b[path:], it.Path)
	b[size-1] = 0
	return size
}
