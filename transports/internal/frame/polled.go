package frame

import (
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"

	"msgbench/transports"
)

// polled is a Stream for the systems without raw descriptors of ours.
type polled struct {
	c      io.ReadWriteCloser
	closed atomic.Bool
}

func (p *polled) Read(b []byte) (int, error) {
	n, err := p.c.Read(b)
	return n, p.local(err)
}

// WriteBoth uses a vector where the connection has one, else two writes.
func (p *polled) WriteBoth(a, b []byte) error {
	var err error
	if len(b) == 0 {
		_, err = p.c.Write(a)
	} else {
		_, err = (&net.Buffers{a, b}).WriteTo(p.c)
	}
	return p.local(err)
}

func (p *polled) Closed() bool { return p.closed.Load() }

func (p *polled) Close() error {
	if p.closed.Swap(true) {
		return nil
	}
	return p.c.Close()
}

// local turns the error of a call that our Close ended into the contract's.
func (p *polled) local(err error) error {
	if err != nil && (p.closed.Load() || errors.Is(err, net.ErrClosed) || errors.Is(err, os.ErrClosed)) {
		return transports.ErrClosed
	}
	return err
}
