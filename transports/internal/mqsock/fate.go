package mqsock

import (
	"sync/atomic"

	"msgbench/transports"
)

// Fate is why a connection has come to its end. It is asked before each Send, so asking is one atomic load.
type Fate struct{ err atomic.Pointer[error] }

// Fail notes the first reason: the peer has gone, or sent what can't be read.
func (f *Fate) Fail(err error) { f.err.CompareAndSwap(nil, &err) }

// Close notes that this side has closed, which counts more than any other reason. It tells whether it was the first call.
func (f *Fate) Close() bool {
	closed := transports.ErrClosed
	old := f.err.Swap(&closed)
	return old == nil || *old != transports.ErrClosed
}

// Err is the reason, or nil while there is none.
func (f *Fate) Err() error {
	if p := f.err.Load(); p != nil {
		return *p
	}
	return nil
}
