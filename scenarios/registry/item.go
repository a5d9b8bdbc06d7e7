// Package registry is what the snapshot and lookup scenarios work on: a list of items that one side encodes into a
// message, and a cache that the other side decodes it into and looks items up in. The layout of the message is described
// in docs/wire-snapshot.md.
package registry

import (
	"fmt"
	"strconv"
	"strings"
)

// Limits of a message. With them its size stays below 34 MB, far from overflowing its 32-bit offsets.
const (
	MaxItems  = 4096
	MaxString = 4095 // bytes of a name or of a path, without the NUL
)

// BenchItemCount is how many items the snapshot scenario has, and BenchSize how many bytes their message takes.
const (
	BenchItemCount = 16
	BenchSize      = 1301
)

// Item is one entry. Hash and Name together tell it from others.
type Item struct {
	Hash    uint32
	Options uint32
	Enabled uint32 // 0 or 1
	Name    string // without NUL bytes, at most MaxString; so is Path
	Path    string
}

// check says why an item can't be encoded.
func (it *Item) check() error {
	if it.Enabled > 1 {
		return fmt.Errorf("enabled is %d, want 0 or 1", it.Enabled)
	}
	if err := checkString("name", it.Name); err != nil {
		return err
	}
	return checkString("path", it.Path)
}

// checkString refuses what a C program could not read back from between an offset and a NUL.
func checkString(what, s string) error {
	if len(s) > MaxString {
		return fmt.Errorf("its %s is %d B long, at most %d fit", what, len(s), MaxString)
	}
	if i := strings.IndexByte(s, 0); i >= 0 {
		return fmt.Errorf("its %s has a NUL at byte %d of %d", what, i, len(s))
	}
	return nil
}

// BenchItems returns the items of the snapshot scenario, the same ones at every call, in memory of their own.
func BenchItems() []Item {
	items := make([]Item, BenchItemCount)
	for i := range items {
		items[i] = Item{
			Hash:    1000 + uint32(i),
			Enabled: uint32(i % 2),
			Name:    "cgroup-" + strconv.Itoa(i),
			Path:    "/sys/fs/cgroup/bench/cg-" + strconv.Itoa(i),
		}
	}
	return items
}
