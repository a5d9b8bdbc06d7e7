package registry

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"unsafe"
)

// Fields are a registry as typed parameters of a call: u64 generation, u32 number of items, and for each of them u32 hash,
// u32 options, u32 enabled, and name and path, each with a NUL after it. It implements transports.Fields; the payload is the
// message that Encode makes.
type Fields struct {
	generation uint64
	items      []Item // their strings are bytes of what was taken or parsed
}

const (
	fieldsHead = 8 + 4     // before the items
	fieldsItem = 3*4 + 2*1 // of an item, strings left out
)

// Take sets the parameters to those of an encoded message.
func (f *Fields) Take(payload []byte) error {
	m, err := parse(payload)
	if err != nil {
		return err
	}
	f.begin(m.generation, m.count)
	at := 0
	var r record
	for i := range m.count {
		if at, err = m.next(&r, i, at); err != nil {
			return err
		}
		f.items = append(f.items, Item{r.hash, r.options, r.enabled, text(r.name), text(r.path)})
	}
	if at != len(m.area) {
		return fmt.Errorf("the items end at byte %d of %d", at, len(m.area))
	}
	return nil
}

func (f *Fields) begin(generation uint64, count int) {
	f.generation = generation
	if cap(f.items) < count {
		f.items = make([]Item, 0, count)
	}
	f.items = f.items[:0]
}

// text is b as a string, without a copy: it is valid as long as b is.
func text(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// Size is how many bytes Put writes.
func (f *Fields) Size() int {
	n := fieldsHead
	for i := range f.items {
		n += fieldsItem + len(f.items[i].Name) + len(f.items[i].Path)
	}
	return n
}

// Wire is the last one's size.
func (f *Fields) Wire(int) int { return f.Size() }

// Put serializes the registry, field by field.
func (f *Fields) Put(b []byte) {
	le := binary.LittleEndian
	le.PutUint64(b, f.generation)
	le.PutUint32(b[8:], uint32(len(f.items)))
	b = b[fieldsHead:]
	for i := range f.items {
		it := &f.items[i]
		le.PutUint32(b, it.Hash)
		le.PutUint32(b[4:], it.Options)
		le.PutUint32(b[8:], it.Enabled)
		b = putText(putText(b[12:], it.Name), it.Path)
	}
}

func putText(b []byte, s string) []byte {
	n := copy(b, s)
	b[n] = 0
	return b[n+1:]
}

// Parse deserializes a registry from exactly b.
func (f *Fields) Parse(b []byte) error {
	if len(b) < fieldsHead {
		return fmt.Errorf("%d B are no registry", len(b))
	}
	le := binary.LittleEndian
	generation, count := le.Uint64(b), le.Uint32(b[8:])
	b = b[fieldsHead:]
	if count > MaxItems || int(count)*fieldsItem > len(b) {
		return fmt.Errorf("a registry of %d items in %d B", count, len(b))
	}
	f.begin(generation, int(count))
	for i := range int(count) {
		if len(b) < 3*4 {
			return fmt.Errorf("item %d has %d B left", i, len(b))
		}
		it := Item{Hash: le.Uint32(b), Options: le.Uint32(b[4:]), Enabled: le.Uint32(b[8:])}
		b = b[3*4:]
		for _, s := range []*string{&it.Name, &it.Path} {
			n := bytes.IndexByte(b, 0)
			if n < 0 {
				return fmt.Errorf("item %d has a string that does not end", i)
			}
			*s, b = text(b[:n]), b[n+1:]
		}
		f.items = append(f.items, it)
	}
	if len(b) > 0 {
		return fmt.Errorf("%d B after the last item", len(b))
	}
	return nil
}

// Give encodes the registry.
func (f *Fields) Give(payload []byte) (int, error) {
	if n := f.encodedSize(); n > len(payload) {
		return 0, fmt.Errorf("a registry of %d B where messages have at most %d B", n, len(payload))
	}
	m, err := Encode(payload[:0], f.items, f.generation)
	return len(m), err
}

func (f *Fields) encodedSize() int {
	area := 0
	for i := range f.items {
		area = align(area) + itemSize(len(f.items[i].Name), len(f.items[i].Path))
	}
	return headerSize + entrySize*len(f.items) + area
}
