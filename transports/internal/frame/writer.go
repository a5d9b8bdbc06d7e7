package frame

import (
	"encoding/binary"
	"fmt"

	"msgbench/transports"
)

// copyLimit is up to which size a message is copied behind its head, in bytes: one buffer costs the kernel less than a
// vector of two, until the copy costs more than that.
const copyLimit = 16 << 10

// Sink takes a frame's bytes: a and then b, all of them, with one system call if the stream has room. b may be empty.
type Sink interface {
	WriteBoth(a, b []byte) error
}

// Writer puts frames into a stream.
type Writer struct {
	dst Sink
	max int // bytes of the largest message
	buf []byte
}

// NewWriter returns a Writer to dst that sends messages of up to max bytes.
func NewWriter(dst Sink, max int) *Writer {
	return &Writer{dst: dst, max: max, buf: make([]byte, headSize+min(max, copyLimit))}
}

// Send writes one message. A message above the limit is transports.ErrTooLarge and writes nothing.
func (e *Writer) Send(msg []byte) error {
	if len(msg) > e.max {
		return TooLarge(len(msg), e.max)
	}
	binary.LittleEndian.PutUint32(e.buf, uint32(len(msg)))
	if len(msg) > copyLimit {
		return e.dst.WriteBoth(e.buf[:headSize], msg)
	}
	n := copy(e.buf[headSize:], msg)
	return e.dst.WriteBoth(e.buf[:headSize+n], nil)
}

// TooLarge is the error for a message of n bytes where at most max are agreed on.
func TooLarge(n, max int) error {
	return fmt.Errorf("message of %d B: %w, at most %d B", n, transports.ErrTooLarge, max)
}
