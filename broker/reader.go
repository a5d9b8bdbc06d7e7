package broker

import (
	"fmt"
	"io"
)

// Reader takes frames out of a stream; one Read of the source takes as many as are there.
type Reader struct {
	Src  io.Reader // may be replaced between two calls of Next
	max  int
	buf  []byte
	r, w int
}

// NewReader returns a Reader of frames of up to max bytes.
func NewReader(src io.Reader, max int) *Reader {
	return &Reader{Src: src, max: max, buf: make([]byte, max+readAhead)}
}

// readAhead is how much more than one frame a Reader's buffer holds, in bytes.
const readAhead = 64 << 10

// Next returns the next frame, whose head and checksum have been checked. It is valid until the next call. The errors are
// io.EOF between frames, io.ErrUnexpectedEOF inside one, ErrFrame, and those of the source.
func (d *Reader) Next() ([]byte, error) {
	if err := d.fill(HeaderSize); err != nil {
		return nil, err
	}
	n, err := CheckHead(d.buf[d.r:], d.max)
	if err != nil {
		return nil, err
	}
	if err := d.fill(n); err != nil {
		return nil, err
	}
	f := d.buf[d.r : d.r+n : d.r+n]
	d.r += n
	return f, CheckSum(f)
}

func (d *Reader) fill(n int) error {
	if d.w-d.r >= n {
		return nil
	}
	if d.r == d.w {
		d.r, d.w = 0, 0
	} else if d.r+n > len(d.buf) {
		d.w = copy(d.buf, d.buf[d.r:d.w])
		d.r = 0
	}
	for d.w-d.r < n {
		k, err := d.Src.Read(d.buf[d.w:])
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

// Batch reads into buf, which begins with have bytes that were read before, until it holds a whole frame, and returns how
// many bytes its whole frames have and how many there are in all. It does not check sums. buf holds a frame of max bytes.
func Batch(src io.Reader, buf []byte, have, max int) (whole, all int, err error) {
	for {
		for have-whole >= HeaderSize {
			n, err := CheckHead(buf[whole:], max)
			if err != nil {
				return whole, have, err
			}
			if n > have-whole {
				break
			}
			whole += n
		}
		if whole > 0 {
			return whole, have, nil
		}
		k, err := src.Read(buf[have:])
		have += k
		if err != nil && k == 0 {
			if err == io.EOF && have > 0 {
				err = fmt.Errorf("inside a frame: %w", io.ErrUnexpectedEOF)
			}
			return 0, have, err
		}
	}
}

// Rest is what was read and not yet returned, in a slice of its own: for somebody else who goes on reading the source.
func (d *Reader) Rest() []byte {
	rest := append([]byte(nil), d.buf[d.r:d.w]...)
	d.r, d.w = 0, 0
	return rest
}
