package transporttest

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"

	"msgbench/transports"
)

// TestReference runs the suite on the simplest transport that passes it, so that a failure elsewhere is not the suite's.
func TestReference(t *testing.T) { Run(t, &reference{}) }

// reference sends a length and a message through a Unix stream socket. breakIt, if set, spoils a connection.
type reference struct {
	breakIt func(*refConn) transports.Conn
}

var refNames atomic.Int64

func (r *reference) Info() transports.Info {
	return transports.Info{Name: "reference", Summary: "for testing the tests", Waits: []transports.Wait{transports.Block}, MaxMessage: 4 << 20}
}

func (r *reference) Listen(o transports.Options) (transports.Listener, error) {
	o, err := o.Normalized(r.Info())
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("unix", filepath.Join(o.Dir, strconv.FormatInt(refNames.Add(1), 10)))
	if err != nil {
		return nil, err
	}
	return &refListener{r, l, o}, nil
}

func (r *reference) Dial(endpoint string, o transports.Options) (transports.Conn, error) {
	o, err := o.Normalized(r.Info())
	if err != nil {
		return nil, err
	}
	c, err := net.Dial("unix", endpoint)
	if err != nil {
		return nil, err
	}
	return r.conn(c, o), nil
}

func (r *reference) conn(c net.Conn, o transports.Options) transports.Conn {
	rc := &refConn{Conn: c, max: o.MaxMessage}
	if r.breakIt != nil {
		return r.breakIt(rc)
	}
	return rc
}

type refListener struct {
	r *reference
	l net.Listener
	o transports.Options
}

func (l *refListener) Endpoint() string { return l.l.Addr().String() }

func (l *refListener) Accept() (transports.Conn, error) {
	c, err := l.l.Accept()
	if err != nil {
		return nil, closedError(err)
	}
	l.l.Close()
	return l.r.conn(c, l.o), nil
}

func (l *refListener) Close() error { l.l.Close(); return nil }

type refConn struct {
	net.Conn
	max int
}

func (c *refConn) Send(msg []byte) error {
	if len(msg) > c.max {
		return transports.ErrTooLarge
	}
	_, err := c.Write(append(binary.LittleEndian.AppendUint32(nil, uint32(len(msg))), msg...))
	return closedError(err)
}

func (c *refConn) Recv() ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(c, head[:]); err != nil {
		return nil, closedError(err)
	}
	msg := make([]byte, binary.LittleEndian.Uint32(head[:]))
	_, err := io.ReadFull(c, msg)
	return msg, closedError(err)
}

// InFlight is a guess on the safe side: a buffer of 200 KB in which each packet costs about a kilobyte more than its size.
func (c *refConn) InFlight(size int) int { return max(1, 100_000/(size+1000)) }

func (c *refConn) Facts() map[string]string { return map[string]string{} }

func (c *refConn) Close() error { c.Conn.Close(); return nil }

func closedError(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return transports.ErrClosed
	}
	return err
}
