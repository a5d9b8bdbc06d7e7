package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// The words of how a run begins.
const (
	howRun    = "run"
	howResume = "resume"
	howRetry  = "retry"
)

// eventsVersion is the version of the lines that docs/events.md describes.
const eventsVersion = 1

// maxPending is how many bytes of events wait for a reader that is slow. What goes beyond ends the events, not the run.
const maxPending = 1 << 20

// How long a reader is waited for that takes nothing, between samples: patience once, then not at all until it has read what
// waits. At the end lastPatience.
const (
	patience     = time.Second
	lastPatience = 5 * time.Second
)

// events writes what happens in a run as lines of JSON. Nil writes nothing. It is written to between samples only, and no
// write waits longer than patience: a reader that never reads neither holds up a run nor wakes the runner in a window.
type events struct {
	name    string // of the file, for errors
	out     eventSink
	warn    io.Writer
	pending []byte
	lost    int   // events that were not written
	waiting int   // events in pending
	slow    bool  // the reader has been waited for already
	err     error // the first one; nothing is written after it
	place   int
	total   int
	left    time.Duration
	attempt int
}

// eventSink is where the lines go.
type eventSink interface {
	// write writes some of b, as much as goes within that time: all of it, or n bytes and no error where the reader is slow.
	write(b []byte, within time.Duration) (n int, err error)
	Close() error
}

// emit queues one line and writes what goes.
func (e *events) emit(v any) {
	if e == nil {
		return
	}
	if e.err != nil {
		e.lost++
		return
	}
	line, err := json.Marshal(v)
	if err != nil {
		e.fail(err)
		return
	}
	if len(e.pending)+len(line) > maxPending {
		e.fail(fmt.Errorf("its reader takes nothing, and %d events wait", e.waiting))
		return
	}
	e.pending = append(append(e.pending, line...), '\n')
	e.waiting++
	e.flush(patience)
}

// flush writes what waits; a reader that has been waited for once is not waited for again until it has read all.
func (e *events) flush(within time.Duration) {
	if e.slow && within == patience {
		within = 0
	}
	n, err := e.out.write(e.pending, within)
	e.pending = e.pending[:copy(e.pending, e.pending[n:])]
	switch {
	case err != nil:
		e.fail(err)
	case len(e.pending) == 0:
		e.slow, e.waiting = false, 0
	default:
		e.slow = true
	}
}

// fail gives the events up, and says so at once: the run goes on without them.
func (e *events) fail(err error) {
	e.err = fmt.Errorf("--events %s: %w", e.name, err)
	e.lost += max(e.waiting, 1)
	e.pending, e.waiting = nil, 0
	fmt.Fprintf(e.warn, "msgbench: %v; the run goes on without events\n", e.err)
}

// close writes what waits, for a last time, and tells what went wrong.
func (e *events) close() error {
	if e == nil {
		return nil
	}
	if e.err == nil && len(e.pending) > 0 {
		e.flush(lastPatience)
		if e.err == nil && len(e.pending) > 0 {
			e.err = fmt.Errorf("--events %s: its reader did not take the last events", e.name)
			e.lost += e.waiting
		}
	}
	if err := e.out.Close(); err != nil && e.err == nil {
		e.err = fmt.Errorf("--events %s: %w", e.name, err)
	}
	if e.err != nil {
		return fmt.Errorf("%w; %d events were lost", e.err, e.lost)
	}
	return nil
}
