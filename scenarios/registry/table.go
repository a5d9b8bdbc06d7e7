package registry

import "fmt"

// table holds items and an index over them. It never changes once it is published, so readers need no lock.
type table struct {
	items   []Item // in the order of the message
	slots   []slot // a power of two of them, at least twice as many as items
	changes uint64 // how many tables there have been, this one included
}

// slot is one place of the index, which is open addressing with linear probing. It holds the item itself, so that a lookup
// follows no pointer before the name's, and takes one cache line.
type slot struct {
	Item
	used bool
	_    [15]byte
}

// home is the slot where the search for a hash begins, before it is masked. Hashes may be consecutive numbers; the
// multiplication (by 2^64 over the golden ratio) spreads them evenly, and 16 bits are enough for the slots of MaxItems.
func home(hash uint32) int { return int(uint64(hash) * 0x9e3779b97f4a7c15 >> 48) }

// newTable copies the items out of a message. It refuses items that occur twice and NULs inside of strings, both of
// which can't be in a message whose items equal those of a table. Items with the same hash are found one after
// the other, so a message in which all hashes are equal costs n²/2 comparisons of names: about 50 ms at worst, by MaxItems.
func newTable(m *message) (*table, error) {
	n := 2
	for n < 2*m.count {
		n *= 2
	}
	t := &table{items: make([]Item, m.count), slots: make([]slot, n)}
	text := string(m.area) // all strings at once
	at := 0
	for i := range t.items {
		var r record
		next, err := m.next(&r, i, at)
		if err != nil {
			return nil, err
		}
		name := at + fixedSize
		path := name + len(r.name) + 1
		it := Item{r.hash, r.options, r.enabled, text[name : name+len(r.name)], text[path : path+len(r.path)]}
		if err := it.check(); err != nil {
			return nil, fmt.Errorf("item %d: %w", i, err)
		}
		if !t.insert(&it) {
			return nil, fmt.Errorf("item %d: hash %d with the name %q was there before", i, it.Hash, it.Name)
		}
		t.items[i] = it
		at = next
	}
	return t, nil
}

// insert adds an item to the index, unless one with its hash and name is there.
func (t *table) insert(it *Item) bool {
	for i := home(it.Hash); ; i++ {
		s := &t.slots[i&(len(t.slots)-1)]
		if !s.used {
			s.Item, s.used = *it, true
			return true
		}
		if s.Hash == it.Hash && s.Name == it.Name {
			return false
		}
	}
}
