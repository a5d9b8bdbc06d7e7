package registry

import (
	"bytes"
	"encoding/binary"
	"math"
	"strings"
	"testing"
)

// checkAgainst tells what a refresh from the bench items of generation 1 by m did: all of it, or nothing.
func checkAgainst(t *testing.T, c *Cache, m []byte, err error) {
	t.Helper()
	if err != nil {
		if strings.Contains(err.Error(), "\n") {
			t.Errorf("more than a line: %q", err)
		}
		if c.Generation() != 1 || c.Changes() != 1 || !c.Equal(BenchItems()) {
			t.Errorf("%v, but the cache has changed: generation %d", err, c.Generation())
		}
		return
	}
	items := c.table.Load().items
	if c.Len() != len(items) {
		t.Errorf("%d items, but Len is %d", len(items), c.Len())
	}
	for i := range items {
		if it, ok := c.Get(items[i].Hash, items[i].Name); !ok || it != items[i] {
			t.Errorf("item %d is %v, but Get finds %v", i, items[i], it)
		}
	}
	again, err := Encode(nil, items, c.Generation())
	if err != nil {
		t.Error(err)
	}
	if !bytes.Equal(again, m) {
		t.Errorf("%x was taken, but its items encode to %x", m, again)
	}
}

func benchCache(t testing.TB) *Cache {
	t.Helper()
	c := &Cache{}
	if err := c.Refresh(mustEncode(t, BenchItems(), 1)); err != nil {
		t.Fatal(err)
	}
	return c
}

// There is one encoding of a list of items, so whatever is taken can be encoded again to the same bytes.
func TestEveryByteCorrupted(t *testing.T) {
	m := mustEncode(t, BenchItems(), 2)
	taken := 0
	for at := range m {
		was := m[at]
		for _, b := range []byte{was ^ 1, was ^ 2, was ^ 4, was ^ 8, was ^ 16, was ^ 32, was ^ 64, was ^ 128, 0, 255, was + 1} {
			m[at] = b
			c := benchCache(t)
			err := c.Refresh(m)
			checkAgainst(t, c, m, err)
			if err == nil {
				taken++
			}
		}
		m[at] = was
	}
	// Generation, hash, options, enabled and the strings may be something else; all the rest may not.
	if free := 8 + 16*(4+4+1+8+25) + 6*2; taken < free*8/2 || taken > free*11 {
		t.Errorf("%d corrupted messages were taken", taken)
	}
}

func TestEveryLength(t *testing.T) {
	m := append(mustEncode(t, BenchItems(), 2), 0, 0, 0, 0, 0, 0, 0, 0, 0)
	for n := range len(m) + 1 {
		c := benchCache(t)
		err := c.Refresh(m[:n:n])
		checkAgainst(t, c, m[:n], err)
		if (err == nil) != (n == BenchSize) {
			t.Errorf("%d B: %v", n, err)
		}
	}
}

func TestRefreshRefuses(t *testing.T) {
	const first, item1 = 152, 152 + 72
	put16 := func(at int, v uint16) func([]byte) []byte {
		return func(m []byte) []byte { binary.LittleEndian.PutUint16(m[at:], v); return m }
	}
	put := func(at int, v uint32) func([]byte) []byte {
		return func(m []byte) []byte { binary.LittleEndian.PutUint32(m[at:], v); return m }
	}
	for _, c := range []struct {
		name  string
		spoil func([]byte) []byte
		want  string
	}{
		{"empty", func([]byte) []byte { return nil }, "a registry of 0 B is shorter than its header of 24 B"},
		{"version", put16(0, 2), "registry of version 2 with flags 0x0, want version 1 without"},
		{"flags", put16(2, 16), "registry of version 1 with flags 0x10, want version 1 without"},
		{"systemd", put(8, 0), "systemd-enabled is 0, want 1"},
		{"zero", put(12, 5), "bytes 12 to 15 of the registry are 0x5, want 0"},
		{"generation before", put(16, 1), "generation 1 came, but generation 1 is there already"},
		{"count, too many", put(4, MaxItems+1), "registry of 4097 items, at most 4096 are allowed"},
		{"count, overflow", put(4, math.MaxUint32), "registry of 4294967295 items, at most 4096 are allowed"},
		{"count, no room", put(4, 200), "a registry of 1301 B has no room for a directory of 200 items"},
		{"count, one less", put(4, 15), "item 0: version 1080 with flags 0x0, want version 1 without"},
		{"count, none", put(4, 0), "1277 B follow the last of 0 items"},
		{"first offset", put(24, 8), "item 0 is said to begin at byte 8 of the items, want 0"},
		{"same item twice", put(32, 0), "item 1 is said to begin at byte 0 of the items, want 72"},
		{"far offset", put(32, math.MaxUint32-7), "item 1 is said to begin at byte 4294967288 of the items, want 72"},
		{"unaligned", put(32, 67), "item 1 is said to begin at byte 67 of the items, want 72"},
		{"size beyond", put(28, 1150), "item 0 is said to take 1150 B from byte 0, but the items take 1149 B"},
		{"size overflow", put(36, math.MaxUint32), "item 1 is said to take 4294967295 B from byte 72, but the items take 1149 B"},
		{"size of nothing", put(28, 0), "item 0: 0 B, an item takes at least 34"},
		{"size one more", put(28, 68), "item 0: 68 B, but its strings make it 67"},
		{"item version", put16(item1, 7), "item 1: version 7 with flags 0x0, want version 1 without"},
		{"item flags", put16(item1+2, 1), "item 1: version 1 with flags 0x1, want version 1 without"},
		{"enabled", put(item1+12, 2), "item 1: enabled is 2, want 0 or 1"},
		{"name offset", put(item1+16, 33), "item 1: its name is said to begin at byte 33 and its path at 41, want 32 and 41"},
		{"name length", put(item1+20, 9), "item 1: its name is said to begin at byte 32 and its path at 41, want 32 and 42"},
		{"name too long", put(item1+20, math.MaxUint32), "item 1: a name of 4294967295 B and a path of 25 B, at most 4095 are allowed"},
		{"path offset", put(item1+24, 32), "item 1: its name is said to begin at byte 32 and its path at 32, want 32 and 41"},
		{"path length", put(item1+28, 26), "item 1: 67 B, but its strings make it 68"},
		{"path too long", put(item1+28, 4096), "item 1: a name of 8 B and a path of 4096 B, at most 4095 are allowed"},
		{"name without NUL", func(m []byte) []byte { m[item1+40] = 'x'; return m }, "item 1: its name does not end with a NUL"},
		{"path without NUL", func(m []byte) []byte { m[item1+66] = 'x'; return m }, "item 1: its path does not end with a NUL"},
		{"NUL in a name", func(m []byte) []byte { m[item1+34] = 0; return m }, "item 1: its name has a NUL at byte 2 of 8"},
		{"NUL in a path", func(m []byte) []byte { m[item1+41] = 0; return m }, "item 1: its path has a NUL at byte 0 of 25"},
		{"padding, first byte", func(m []byte) []byte { m[item1+67] = 1; return m }, "item 1: the 5 B after it are not zero"},
		{"padding, last byte", func(m []byte) []byte { m[item1+71] = 1; return m }, "item 1: the 5 B after it are not zero"},
		{"cut in the padding", func(m []byte) []byte { return m[:first+70] }, "item 0 ends at byte 67, but the items take 70 B and 15 more should follow"},
		{"cut in an item", func(m []byte) []byte { return m[:first+100] }, "item 1 is said to take 67 B from byte 72, but the items take 100 B"},
		{"trailing byte", func(m []byte) []byte { return append(m, 0) }, "1 B follow the last of 16 items"},
		{"twice", func(m []byte) []byte {
			copy(m[first+144:first+216], m[first:])
			return m
		}, `item 2: hash 1000 with the name "cgroup-0" was there before`},
	} {
		cache := benchCache(t)
		m := c.spoil(mustEncode(t, BenchItems(), 2))
		err := cache.Refresh(m)
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
		checkAgainst(t, cache, m, err)
	}
}

func FuzzRefresh(f *testing.F) {
	f.Add([]byte{})
	f.Add(mustEncode(f, nil, 2))
	f.Add(mustEncode(f, BenchItems(), 1))
	f.Add(mustEncode(f, BenchItems(), 2))
	f.Add(mustEncode(f, BenchItems()[:2], 3))
	f.Add(mustEncode(f, []Item{{Hash: 1, Name: "a"}, {Hash: 1, Name: "b"}, {Hash: 1, Name: "a"}}, 4))
	f.Add(mustEncode(f, []Item{{}}, math.MaxUint64))
	f.Fuzz(func(t *testing.T, m []byte) {
		c := benchCache(t)
		err := c.Refresh(m)
		checkAgainst(t, c, m, err)
		if err == nil && c.Refresh(m) == nil {
			t.Error("the same generation was taken twice")
		}
	})
}
