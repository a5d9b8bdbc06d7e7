package broker

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// Ladder is the sizes in bytes that typed payloads come in.
var Ladder = []int{0, 8, 16, 32, 64, 128, 256, 512, 1024, 4096, 65536}

// LadderIndex is the place of a size in the ladder; -1 where it has none.
func LadderIndex(size int) int { return slices.Index(Ladder, size) }

// LadderText lists the ladder for messages to people.
func LadderText() string {
	var s []string
	for _, n := range Ladder {
		s = append(s, fmt.Sprint(n))
	}
	return strings.Join(s, ", ")
}

const (
	wordsSize   = 64  // bytes of eight u64
	textSize    = 64  // bytes of a string, with its NUL
	segmentSize = 128 // bytes of a Segment
	fixedSize   = wordsSize + segmentSize + 4
)

// Segment is a payload of 128 B: eight numbers and a string.
type Segment struct {
	Words [8]uint64
	Text  [textSize - 1]byte // has no NUL
}

// Data is the typed payload of a call. Of 8 to 64 B: so many Words; of 128 to 512 B: one, two or four Segments; from 1,024 B on:
// all Words, one Segment and a Buffer that takes the rest.
type Data struct {
	Size     int // one of Ladder
	Words    [8]uint64
	Segments [4]Segment
	Buffer   []byte // valid as long as the bytes that it was read from
}

// parts is how many words and segments, and whether a buffer, a payload of that size has.
func parts(size int) (words, segments int, buffer bool) {
	switch {
	case size <= wordsSize:
		return size / 8, 0, false
	case size <= 512:
		return 0, size / segmentSize, false
	}
	return 8, 1, true
}

// Put serializes d, field by field, into b, which has d.Size bytes.
func (d *Data) Put(b []byte) {
	words, segments, buffer := parts(d.Size)
	for i := range words {
		le.PutUint64(b[8*i:], d.Words[i])
	}
	b = b[8*words:]
	for i := range segments {
		d.Segments[i].put(b)
		b = b[segmentSize:]
	}
	if buffer {
		le.PutUint32(b, uint32(len(d.Buffer)))
		copy(b[4:], d.Buffer)
	}
}

func (k *Segment) put(b []byte) {
	for i, w := range &k.Words {
		le.PutUint64(b[8*i:], w)
	}
	copy(b[wordsSize:segmentSize-1], k.Text[:])
	b[segmentSize-1] = 0
}

// Parse deserializes a payload of exactly that size. Buffer then points into b. It allocates only for the error.
func (d *Data) Parse(b []byte, size int) error {
	if len(b) != size {
		return fmt.Errorf("a payload of %d B where the method takes %d B: %w", len(b), size, ErrFrame)
	}
	words, segments, buffer := parts(size)
	d.Size, d.Buffer = size, nil
	for i := range words {
		d.Words[i] = le.Uint64(b[8*i:])
	}
	b = b[8*words:]
	for i := range segments {
		if err := d.Segments[i].parse(b); err != nil {
			return err
		}
		b = b[segmentSize:]
	}
	if buffer {
		if n := le.Uint32(b); uint64(n) != uint64(len(b)-4) {
			return fmt.Errorf("a buffer of %d B where %d B follow: %w", n, len(b)-4, ErrFrame)
		}
		d.Buffer = b[4:]
	}
	return nil
}

func (k *Segment) parse(b []byte) error {
	for i := range &k.Words {
		k.Words[i] = le.Uint64(b[8*i:])
	}
	text := b[wordsSize:segmentSize]
	if bytes.IndexByte(text, 0) != textSize-1 {
		return fmt.Errorf("a string that does not end with the last of its %d B: %w", textSize, ErrFrame)
	}
	copy(k.Text[:], text)
	return nil
}

// Shape changes bytes of any content into a serialized payload of the ladder, so that they can be read back as one. Most of
// them stay as they are. It does nothing where the size is not in the ladder.
func Shape(b []byte) {
	if LadderIndex(len(b)) < 0 {
		return
	}
	words, segments, buffer := parts(len(b))
	b = b[8*words:]
	for range segments {
		text := b[wordsSize:segmentSize]
		for i, c := range text {
			if c == 0 {
				text[i] = 'x'
			}
		}
		text[textSize-1] = 0
		b = b[segmentSize:]
	}
	if buffer {
		le.PutUint32(b, uint32(len(b)-4))
	}
}

// The sizes of the parameters before the payload, in bytes: u32 id and u64 t1, and in responses u64 t2.
const (
	RequestBase  = 12
	ResponseBase = 20
)

// Params are the typed parameters of a call.
type Params struct {
	ID     uint32
	T1, T2 int64 // ns; T2 in responses only
	Data   Data
}

// Size is how many bytes the parameters take.
func (p *Params) Size(response bool) int { return paramBase(response) + p.Data.Size }

func paramBase(response bool) int {
	if response {
		return ResponseBase
	}
	return RequestBase
}

// Put serializes the parameters into b, which has Size bytes.
func (p *Params) Put(b []byte, response bool) { p.Data.Put(p.PutBase(b, response)) }

// PutBase serializes the parameters before the payload, and returns what is left of b.
func (p *Params) PutBase(b []byte, response bool) []byte {
	le.PutUint32(b, p.ID)
	le.PutUint64(b[4:], uint64(p.T1))
	if response {
		le.PutUint64(b[12:], uint64(p.T2))
	}
	return b[paramBase(response):]
}

// Parse deserializes the parameters of a method whose payload has that size.
func (p *Params) Parse(b []byte, response bool, size int) error {
	payload, err := p.ParseBase(b, response)
	if err != nil {
		return err
	}
	return p.Data.Parse(payload, size)
}

// ParseBase deserializes the parameters before the payload, and returns the payload.
func (p *Params) ParseBase(b []byte, response bool) ([]byte, error) {
	base := paramBase(response)
	if len(b) < base {
		return nil, fmt.Errorf("%d B of parameters, less than %d B: %w", len(b), base, ErrFrame)
	}
	p.ID, p.T1, p.T2 = le.Uint32(b), int64(le.Uint64(b[4:])), 0
	if response {
		p.T2 = int64(le.Uint64(b[12:]))
	}
	return b[base:], nil
}

// Method is the number of the method of that kind that takes a payload of the ladder's place index: each size has its own.
func Method(kind uint32, index int) uint32 { return kind<<8 | uint32(index+1) }

// ownFields is the low byte of the number of a method whose parameters are no payload of the ladder.
const ownFields = 0xff

// OwnMethod is the number of the method of that kind that takes parameters of the application's own in place of a payload.
func OwnMethod(kind uint32) uint32 { return kind<<8 | ownFields }

// OwnMethodKind is the kind of such a method, and whether m is one.
func OwnMethodKind(m uint32) (kind uint32, ok bool) { return m >> 8, m&0xff == ownFields }

// MethodParts is kind and payload size in bytes of a method, and whether there is such a one.
func MethodParts(m uint32) (kind uint32, size int, ok bool) {
	i := int(m&0xff) - 1
	if i < 0 || i >= len(Ladder) {
		return 0, 0, false
	}
	return m >> 8, Ladder[i], true
}
