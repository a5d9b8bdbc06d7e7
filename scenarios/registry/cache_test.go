package registry

import (
	"math"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

func TestEmptyCache(t *testing.T) {
	c := &Cache{}
	if _, ok := c.Get(0, ""); ok || c.Len() != 0 || c.Generation() != 0 || c.Changes() != 0 || !c.Equal(nil) {
		t.Error("the zero cache isn't empty")
	}
	if err := c.Refresh(mustEncode(t, nil, 5)); err != nil {
		t.Fatal(err)
	}
	if _, ok := c.Get(0, ""); ok || c.Len() != 0 || c.Generation() != 5 {
		t.Error("a cache of no items isn't empty")
	}
}

func TestRefreshKeepsItems(t *testing.T) {
	sameHash := manyItems(100)
	for i := range sameHash {
		sameHash[i].Hash = 42
	}
	sameName := manyItems(100)
	for i := range sameName {
		sameName[i].Name = "one"
	}
	long := strings.Repeat("é", MaxString/2)
	c, generation := &Cache{}, uint64(0)
	for _, test := range []struct {
		name  string
		items []Item
	}{
		{"bench", BenchItems()},
		{"one", BenchItems()[:1]},
		{"empty strings", []Item{{Hash: 0}, {Hash: 1}, {Hash: 2, Path: "/"}, {Hash: 3, Name: "n"}}},
		{"extremes", []Item{{math.MaxUint32, math.MaxUint32, 1, long, long}, {0, 0, 0, long + "x", ""}}},
		{"same hash", sameHash},
		{"same name", sameName},
		{"full", manyItems(MaxItems)},
		{"none", nil},
	} {
		generation += 3
		m := mustEncode(t, test.items, generation)
		if err := c.Refresh(m); err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		clear(m) // the cache must not need it
		if !c.Equal(test.items) || c.Generation() != generation || c.Len() != len(test.items) {
			t.Errorf("%s: the cache has %d other items of generation %d", test.name, c.Len(), c.Generation())
		}
		for _, want := range test.items {
			if got, ok := c.Get(want.Hash, want.Name); !ok || got != want {
				t.Errorf("%s: got %v, want %v", test.name, got, want)
			}
			if _, ok := c.Get(want.Hash, want.Name+"."); ok {
				t.Errorf("%s: found a name that isn't there", test.name)
			}
			if _, ok := c.Get(want.Hash^1<<31, want.Name); ok {
				t.Errorf("%s: found a hash that isn't there", test.name)
			}
		}
	}
}

// Only a refresh with other items, or in another order, makes a new table.
func TestChanges(t *testing.T) {
	c, generation := benchCache(t), uint64(1)
	for _, test := range []struct {
		name   string
		change func(items []Item) []Item
	}{
		{"hash", func(items []Item) []Item { items[4].Hash = 9; return items }},
		{"options", func(items []Item) []Item { items[4].Options = 9; return items }},
		{"enabled", func(items []Item) []Item { items[4].Enabled = 1; return items }},
		{"name", func(items []Item) []Item { items[4].Name = "cgroup-X"; return items }},
		{"path", func(items []Item) []Item { items[15].Path += "/"; return items }},
		{"order", func(items []Item) []Item { items[1], items[2] = items[2], items[1]; return items }},
		{"fewer", func(items []Item) []Item { return items[:15] }},
		{"more", func(items []Item) []Item { return append(items, Item{}) }},
	} {
		for _, items := range [][]Item{test.change(BenchItems()), BenchItems()} {
			before := c.Changes()
			for range 2 {
				generation++
				if err := c.Refresh(mustEncode(t, items, generation)); err != nil {
					t.Fatalf("%s: %v", test.name, err)
				}
			}
			if !c.Equal(items) || c.Changes() != before+1 {
				t.Errorf("%s: %d changes", test.name, c.Changes()-before)
			}
		}
	}
}

func TestGenerationMustGrow(t *testing.T) {
	c := &Cache{}
	for _, step := range []struct {
		generation uint64
		want       string
	}{
		{7, ""},
		{7, "generation 7 came, but generation 7 is there already"},
		{6, "generation 6 came, but generation 7 is there already"},
		{math.MaxUint64, ""},
		{1, "generation 1 came, but generation 18446744073709551615 is there already"},
	} {
		err := c.Refresh(mustEncode(t, BenchItems(), step.generation))
		if got := errorText(err); got != step.want {
			t.Errorf("generation %d: %q, want %q", step.generation, got, step.want)
		}
	}
	m := mustEncode(t, BenchItems(), 1)
	clear(m[16:24])
	if got := errorText((&Cache{}).Refresh(m)); got != "generation 0 came, but generation 0 is there already" {
		t.Errorf("generation 0: %q", got)
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// generationItems are items that tell in options and path in which generation they came, and some that come and go.
func generationItems(generation uint64) []Item {
	items := BenchItems()[:8+generation%8]
	for i := range items {
		items[i].Options = uint32(generation)
		items[i].Path = strconv.FormatUint(generation, 10) + items[i].Name
	}
	return items
}

// Readers see whole items, never older than a generation they have seen before.
func TestReadersDuringRefreshes(t *testing.T) {
	const generations = 2000
	c := &Cache{}
	keys := BenchItems()
	var done atomic.Bool
	var wg sync.WaitGroup
	for reader := range 4 {
		wg.Go(func() {
			for i := reader; !done.Load(); i++ {
				key := &keys[i%len(keys)]
				before := c.Generation()
				it, ok := c.Get(key.Hash, key.Name)
				if !ok {
					if before > 0 && i%len(keys) < 8 {
						t.Errorf("item %d is missing", i%len(keys))
						return
					}
					continue
				}
				if want := strconv.FormatUint(uint64(it.Options), 10) + it.Name; it.Hash != key.Hash || it.Name != key.Name || it.Path != want {
					t.Errorf("a torn item: %v", it)
					return
				}
				// The items of a generation are published before its number.
				if uint64(it.Options) < before {
					t.Errorf("an item of generation %d after generation %d was seen", it.Options, before)
					return
				}
				if n := c.Len(); n != 0 && (n < 8 || n > 15) {
					t.Errorf("%d items", n)
				}
			}
		})
	}
	var buf []byte
	for g := range uint64(generations) {
		var err error
		if buf, err = Encode(buf[:0], generationItems(g+1), g+1); err == nil {
			err = c.Refresh(buf)
		}
		if err != nil {
			t.Error(err)
			break
		}
		if g%50 == 0 {
			runtime.Gosched()
		}
	}
	done.Store(true)
	wg.Wait()
	if c.Changes() != generations {
		t.Errorf("%d changes, want %d", c.Changes(), generations)
	}
}
