// Package frame carries messages over byte streams: each message goes as its length, a little-endian u32, and its bytes.
package frame

import (
	"encoding/binary"
	"fmt"
	"io"

	"msgbench/transports"
)

// headSize is the size of the length before each message, in bytes.
const headSize = 4

// slack is how much more than one frame a Reader's buffer holds, so that one read takes many small frames, in bytes.
const slack = 64 << 10

// Reader takes frames out of a stream. One Read of the source takes as much as is there.
type Reader struct {
	src  io.Reader
	max  int // bytes of the largest message
	buf  []byte
	r, w int // buf[r:w] is read but not yet returned
}

// NewReader returns a Reader of src that takes messages of up to max bytes.
func NewReader(src io.Reader, max int) *Reader {
	return &Reader{src: src, max: max, buf: make([]byte, headSize+max+slack)}
}

// Next returns the next message, valid until the next call. Its errors are io.EOF between frames, io.ErrUnexpectedEOF
// inside one, transports.ErrTooLarge for a length above the limit, and those of the source.
func (d *Reader) Next() ([]byte, error) {
	if err := d.fill(headSize); err != nil {
		return nil, err
	}
	// The announced length is compared before it is used: nothing is allocated or indexed by it.
	n := binary.LittleEndian.Uint32(d.buf[d.r:])
	if uint64(n) > uint64(d.max) {
		return nil, fmt.Errorf("frame announces %d B: %w, at most %d B", n, transports.ErrTooLarge, d.max)
	}
	size := headSize + int(n)
	if err := d.fill(size); err != nil {
		return nil, err
	}
	// Capped, so that an append by the caller can't reach the frames behind.
	msg := d.buf[d.r+headSize : d.r+size : d.r+size]
	d.r += size
	return msg, nil
}

// fill reads until n bytes of the current frame are in the buffer.
func (d *Reader) fill(n int) error {
	if d.w-d.r >= n {
		return nil
	}
	if d.r == d.w {
		d.r, d.w = 0, 0 // the same cache lines again and again, where messages come one by one
	} else if d.r+n > len(d.buf) {
		d.w = copy(d.buf, d.buf[d.r:d.w])
		d.r = 0
	}
	for d.w-d.r < n {
		k, err := d.src.Read(d.buf[d.w:])
		d.w += k
		if err != nil && d.w-d.r < n {
			if err == io.EOF && d.w > d.r {
				return io.ErrUnexpectedEOF
			}
			return err
		}
	}
	return nil
}
