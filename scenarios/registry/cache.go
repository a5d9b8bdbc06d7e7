package registry

import (
	"fmt"
	"slices"
	"sync/atomic"
)

// Cache is the local copy of a registry. The zero value is an empty one of generation 0. One goroutine may call Refresh
// while any number of others read.
type Cache struct {
	table atomic.Pointer[table]
	// Each refresh writes the generation. It stands on another cache line, so that lookups do not wait for that.
	_          [120]byte
	generation atomic.Uint64
	_          [56]byte
}

// Refresh decodes a message of Encode and makes it the cache's contents. Every byte of it is checked each time, and its
// generation must be beyond the cache's. After an error the cache is as it was. It keeps nothing of encoded. It allocates
// only if the items differ, in value or order, from those of the cache.
func (c *Cache) Refresh(encoded []byte) error {
	m, err := parse(encoded)
	if err != nil {
		return err
	}
	if has := c.generation.Load(); m.generation <= has {
		return fmt.Errorf("generation %d came, but generation %d is there already", m.generation, has)
	}
	t := c.table.Load()
	same := t != nil && m.count == len(t.items)
	var r record
	at := 0
	for i := range m.count {
		if at, err = m.next(&r, i, at); err != nil {
			return err
		}
		same = same && r.equal(&t.items[i])
	}
	if at != len(m.area) {
		return fmt.Errorf("%d B follow the last of %d items", len(m.area)-at, m.count)
	}
	if !same {
		fresh, err := newTable(&m)
		if err != nil {
			return err
		}
		fresh.changes = c.Changes() + 1
		c.table.Store(fresh)
	}
	// After the table: whoever sees this generation finds its items, or later ones.
	c.generation.Store(m.generation)
	return nil
}

// Get returns the item with this hash and name, and whether there is one. Its strings stay valid.
func (c *Cache) Get(hash uint32, name string) (Item, bool) {
	t := c.table.Load()
	if t == nil {
		return Item{}, false
	}
	for i := home(hash); ; i++ {
		s := &t.slots[i&(len(t.slots)-1)]
		if s.Hash == hash && s.Name == name && s.used {
			return s.Item, true
		}
		if !s.used {
			return Item{}, false
		}
	}
}

// Generation is that of the last refresh that succeeded; 0: there was none.
func (c *Cache) Generation() uint64 { return c.generation.Load() }

// Len is how many items there are.
func (c *Cache) Len() int {
	if t := c.table.Load(); t != nil {
		return len(t.items)
	}
	return 0
}

// Changes is how many refreshes changed the items. While it stays the same, so do they: whoever has checked them once need
// not do it again.
func (c *Cache) Changes() uint64 {
	if t := c.table.Load(); t != nil {
		return t.changes
	}
	return 0
}

// Equal tells whether the cache has just these items in this order.
func (c *Cache) Equal(items []Item) bool {
	t := c.table.Load()
	if t == nil {
		return len(items) == 0
	}
	return slices.Equal(t.items, items)
}
