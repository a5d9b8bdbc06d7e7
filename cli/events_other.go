//go:build !unix

package cli

import (
	"os"
	"time"
)

const openNonblock = 0

func noReader(string, error) bool { return false }

// fileSink writes to a file. Here nothing tells whether a pipe has room: a reader that takes nothing holds the run up.
type fileSink struct {
	f   *os.File
	own bool
}

func newFileSink(f *os.File, own bool) fileSink { return fileSink{f, own} }

func (s fileSink) write(b []byte, _ time.Duration) (int, error) { return s.f.Write(b) }

func (s fileSink) Close() error {
	if !s.own {
		return nil
	}
	return s.f.Close()
}
