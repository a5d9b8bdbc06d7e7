package registry

import (
	"encoding/binary"
	"fmt"
)

// message is an encoded registry whose header has been checked.
type message struct {
	generation uint64
	count      int
	directory  []byte
	area       []byte // the items
}

// parse checks the header and that the directory is there; walk checks what follows.
func parse(encoded []byte) (message, error) {
	le := binary.LittleEndian
	if len(encoded) < headerSize {
		return message{}, fmt.Errorf("a registry of %d B is shorter than its header of %d B", len(encoded), headerSize)
	}
	if v, flags := le.Uint16(encoded[0:]), le.Uint16(encoded[2:]); v != version || flags != 0 {
		return message{}, fmt.Errorf("registry of version %d with flags %#x, want version %d without", v, flags, version)
	}
	if v := le.Uint32(encoded[8:]); v != systemdEnabled {
		return message{}, fmt.Errorf("systemd-enabled is %d, want %d", v, systemdEnabled)
	}
	if v := le.Uint32(encoded[12:]); v != 0 {
		return message{}, fmt.Errorf("bytes 12 to 15 of the registry are %#x, want 0", v)
	}
	count := le.Uint32(encoded[4:])
	if count > MaxItems {
		return message{}, fmt.Errorf("registry of %d items, at most %d are allowed", count, MaxItems)
	}
	first := headerSize + entrySize*int(count)
	if len(encoded) < first {
		return message{}, fmt.Errorf("a registry of %d B has no room for a directory of %d items", len(encoded), count)
	}
	return message{le.Uint64(encoded[16:]), int(count), encoded[headerSize:first], encoded[first:]}, nil
}

// record is an item as it stands in a message: the strings are the message's bytes.
type record struct {
	hash, options, enabled uint32
	name, path             []byte
}

// equal tells whether the record and a cached item agree in every field.
func (r *record) equal(it *Item) bool {
	return r.hash == it.Hash && r.options == it.Options && r.enabled == it.Enabled &&
		string(r.name) == it.Name && string(r.path) == it.Path
}

// next decodes item i, which begins at byte at of the area, and returns where the next one must begin (after the last one,
// the size of the area). There is exactly one encoding of a list of items: each offset is checked against where the bytes
// before it end, so nothing overlaps, and no byte of a message goes unchecked, apart from NULs inside of strings.
func (m *message) next(r *record, i, at int) (int, error) {
	entry := m.directory[entrySize*i:][:entrySize]
	offset, size := binary.LittleEndian.Uint32(entry), binary.LittleEndian.Uint32(entry[4:])
	if uint64(offset) != uint64(at) {
		return 0, fmt.Errorf("item %d is said to begin at byte %d of the items, want %d", i, offset, at)
	}
	if at > len(m.area) || uint64(size) > uint64(len(m.area)-at) {
		return 0, fmt.Errorf("item %d is said to take %d B from byte %d, but the items take %d B", i, size, offset, len(m.area))
	}
	end := at + int(size)
	if err := r.decode(m.area[at:end]); err != nil {
		return 0, fmt.Errorf("item %d: %w", i, err)
	}
	if i == m.count-1 {
		return end, nil
	}
	next := align(end)
	if next > len(m.area) {
		return 0, fmt.Errorf("item %d ends at byte %d, but the items take %d B and %d more should follow", i, end, len(m.area), m.count-1-i)
	}
	// The padding is the last bytes of this word, whose first ones belong to the item; a shift by 64 is 0.
	if word := binary.LittleEndian.Uint64(m.area[next-8:]); word>>(64-8*uint(next-end)) != 0 {
		return 0, fmt.Errorf("item %d: the %d B after it are not zero", i, next-end)
	}
	return next, nil
}

// decode checks the bytes of one item and sets the record to it.
func (r *record) decode(b []byte) error {
	if len(b) < fixedSize+2 {
		return fmt.Errorf("%d B, an item takes at least %d", len(b), fixedSize+2)
	}
	le := binary.LittleEndian
	enabled := le.Uint32(b[12:])
	nameAt, nameLen := le.Uint32(b[16:]), le.Uint32(b[20:])
	pathAt, pathLen := le.Uint32(b[24:]), le.Uint32(b[28:])
	if le.Uint32(b) != version || enabled > 1 || nameLen > MaxString || pathLen > MaxString || nameAt != fixedSize {
		return decodeError(b)
	}
	path := fixedSize + int(nameLen) + 1
	if int64(pathAt) != int64(path) || len(b) != path+int(pathLen)+1 || b[path-1] != 0 || b[len(b)-1] != 0 {
		return decodeError(b)
	}
	r.hash, r.options, r.enabled = le.Uint32(b[4:]), le.Uint32(b[8:]), enabled
	r.name, r.path = b[fixedSize:path-1], b[path:len(b)-1]
	return nil
}

// decodeError says what is wrong with an item of at least the smallest size that decode refused.
func decodeError(b []byte) error {
	le := binary.LittleEndian
	if v, flags := le.Uint16(b), le.Uint16(b[2:]); v != version || flags != 0 {
		return fmt.Errorf("version %d with flags %#x, want version %d without", v, flags, version)
	}
	if v := le.Uint32(b[12:]); v > 1 {
		return fmt.Errorf("enabled is %d, want 0 or 1", v)
	}
	nameAt, nameLen := le.Uint32(b[16:]), le.Uint32(b[20:])
	pathAt, pathLen := le.Uint32(b[24:]), le.Uint32(b[28:])
	if nameLen > MaxString || pathLen > MaxString {
		return fmt.Errorf("a name of %d B and a path of %d B, at most %d are allowed", nameLen, pathLen, MaxString)
	}
	path := fixedSize + int(nameLen) + 1
	if nameAt != fixedSize || int64(pathAt) != int64(path) {
		return fmt.Errorf("its name is said to begin at byte %d and its path at %d, want %d and %d", nameAt, pathAt, fixedSize, path)
	}
	if want := itemSize(int(nameLen), int(pathLen)); len(b) != want {
		return fmt.Errorf("%d B, but its strings make it %d", len(b), want)
	}
	if b[path-1] != 0 {
		return fmt.Errorf("its name does not end with a NUL")
	}
	return fmt.Errorf("its path does not end with a NUL")
}
