package registry

import (
	"sync"
	"testing"
)

type key struct {
	hash uint32
	name string
}

// lockedMap is what Get is measured against: the obvious cache.
type lockedMap struct {
	mu sync.RWMutex
	m  map[key]*Item
}

func newLockedMap(items []Item) *lockedMap {
	l := &lockedMap{m: map[key]*Item{}}
	for i := range items {
		l.m[key{items[i].Hash, items[i].Name}] = &items[i]
	}
	return l
}

func (l *lockedMap) Get(hash uint32, name string) (*Item, bool) {
	l.mu.RLock()
	it, ok := l.m[key{hash, name}]
	l.mu.RUnlock()
	return it, ok
}

// copyAndInsert is what Encode and Refresh are measured against: the bytes of a message copied, and its items put into a
// map that has room for them.
type copyAndInsert struct {
	from, into []byte
	items      []Item
	m          map[key]Item
}

func newCopyAndInsert(t testing.TB) *copyAndInsert {
	items := BenchItems()
	return &copyAndInsert{mustEncode(t, items, 1), make([]byte, BenchSize), items, make(map[key]Item, len(items))}
}

func (c *copyAndInsert) do() {
	copy(c.into, c.from)
	clear(c.m)
	for i := range c.items {
		it := &c.items[i]
		c.m[key{it.Hash, it.Name}] = *it
	}
}

func mustEncode(t testing.TB, items []Item, generation uint64) []byte {
	t.Helper()
	b, err := Encode(nil, items, generation)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// snapshotter does what both sides of the snapshot scenario do, without the transport.
type snapshotter struct {
	items      []Item
	buf        []byte
	cache      Cache
	generation uint64
}

func newSnapshotter() *snapshotter {
	return &snapshotter{items: BenchItems(), buf: make([]byte, 0, BenchSize)}
}

func (s *snapshotter) do() error {
	s.generation++
	b, err := Encode(s.buf, s.items, s.generation)
	if err != nil {
		return err
	}
	return s.cache.Refresh(b)
}

func BenchmarkEncode(b *testing.B) {
	items, buf := BenchItems(), make([]byte, 0, BenchSize)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Encode(buf, items, 1); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSnapshot(b *testing.B) {
	s := newSnapshotter()
	if err := s.do(); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := s.do(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRefreshChanged(b *testing.B) {
	s := newSnapshotter()
	b.ReportAllocs()
	for b.Loop() {
		s.items[3].Options++
		if err := s.do(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCopyAnd16Inserts(b *testing.B) {
	c := newCopyAndInsert(b)
	for b.Loop() {
		c.do()
	}
}

func BenchmarkGet(b *testing.B) {
	c, keys := &Cache{}, BenchItems()
	if err := c.Refresh(mustEncode(b, keys, 1)); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		k := &keys[i&15]
		if it, ok := c.Get(k.Hash, k.Name); !ok || it.Enabled != k.Enabled {
			b.Fatal("not found")
		}
		i++
	}
}

func BenchmarkGetLockedMap(b *testing.B) {
	keys := BenchItems()
	l := newLockedMap(BenchItems())
	i := 0
	for b.Loop() {
		k := &keys[i&15]
		if it, ok := l.Get(k.Hash, k.Name); !ok || it.Enabled != k.Enabled {
			b.Fatal("not found")
		}
		i++
	}
}
