package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// openEvents opens where events go: "-" is standard output, an existing file is appended to, a FIFO must have a reader
// within readerWait. No name: nil, which writes nothing.
func openEvents(ctx context.Context, name string, s streams) (*events, error) {
	if name == "" {
		return nil, nil
	}
	e := &events{name: name, warn: s.err}
	if name == "-" {
		f, ok := s.out.(*os.File)
		if !ok {
			e.out = writerSink{s.out}
			return e, nil
		}
		e.out = newFileSink(f, false)
		return e, nil
	}
	f, err := openForEvents(ctx, name)
	if err != nil {
		return nil, usagef("--events %s: %w", name, err)
	}
	e.out = newFileSink(f, true)
	return e, nil
}

// readerWait is how long a FIFO may be without a reader before anything is measured.
const readerWait = 10 * time.Second

// openForEvents opens a file, but a FIFO only once somebody reads it.
func openForEvents(ctx context.Context, name string) (*os.File, error) {
	deadline := time.Now().Add(readerWait)
	for {
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND|openNonblock, 0o644)
		if err == nil || !noReader(name, err) {
			var pe *os.PathError
			if errors.As(err, &pe) {
				err = pe.Err // the name stands before it already
			}
			return f, err
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("nobody has opened this FIFO for reading within %s", readerWait)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// writerSink is what can't be waited for.
type writerSink struct{ w io.Writer }

func (s writerSink) write(b []byte, _ time.Duration) (int, error) { return s.w.Write(b) }
func (s writerSink) Close() error                                 { return nil }
