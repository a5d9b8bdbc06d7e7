package frame

import (
	"fmt"
	"io"

	"msgbench/transports"
)

// Stream is a connected byte stream. Close ends blocked calls of other goroutines, which return transports.ErrClosed.
type Stream interface {
	io.Reader
	Sink
	Closed() bool
	Close() error
}

// Conn is a transports.Conn over a byte stream.
type Conn struct {
	name     string
	stream   Stream
	in       *Reader
	out      *Writer
	inFlight func(frame int) int
	facts    map[string]string
}

var _ transports.Conn = (*Conn)(nil)

// NewConn returns the connection of the transport name over stream, for messages of up to max bytes. inFlight says how
// many frames of that many bytes, head included, the stream takes without blocking.
func NewConn(name string, stream Stream, max int, inFlight func(frame int) int, facts map[string]string) *Conn {
	return &Conn{name, stream, NewReader(stream, max), NewWriter(stream, max), inFlight, facts}
}

// Send sends a message.
func (c *Conn) Send(msg []byte) error {
	if err := c.out.Send(msg); err != nil {
		return fmt.Errorf("%s: send: %w", c.name, err)
	}
	return nil
}

// Recv returns the next message.
func (c *Conn) Recv() ([]byte, error) {
	if c.stream.Closed() {
		return nil, fmt.Errorf("%s: receive: %w", c.name, transports.ErrClosed) // even if messages are in the buffer
	}
	msg, err := c.in.Next()
	if err != nil {
		if err == io.EOF {
			return nil, err // bare, as readers expect it
		}
		return nil, fmt.Errorf("%s: receive: %w", c.name, err)
	}
	return msg, nil
}

// InFlight is how many messages of size bytes the stream takes while nobody receives.
func (c *Conn) InFlight(size int) int { return max(1, c.inFlight(headSize+size)) }

// Facts are the settings of the stream.
func (c *Conn) Facts() map[string]string { return c.facts }

// Close closes the stream.
func (c *Conn) Close() error { return c.stream.Close() }

// Over returns a Stream over a connection that the Go runtime polls: a net.Conn, or an os.File opened for that.
func Over(c io.ReadWriteCloser) Stream { return &polled{c: c} }
