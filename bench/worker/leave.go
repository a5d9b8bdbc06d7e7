package worker

import (
	"fmt"
	"io"
	"os"
	"time"
)

// leaveTime is how long closing may take once nobody waits for us.
const leaveTime = 300 * time.Millisecond

// exitOrphan is the exit status of a worker whose runner is gone. The main goroutine may be in any call, so that leaving
// can't wait for it to return.
const exitOrphan = 3

// leave ends the process at once, in whatever call it is, after removing what it made.
func (w *worker) leave() {
	closed := make(chan struct{})
	go func() {
		w.cleanUp()
		close(closed)
	}()
	// Closing is quick; but a library that hangs in it must not keep an orphan alive.
	select {
	case <-closed:
	case <-time.After(leaveTime):
	}
	os.Exit(exitOrphan)
}

func (w *worker) hold(c io.Closer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held = append(w.held, c)
}

func (w *worker) cleanUp() {
	w.mu.Lock()
	held := w.held
	w.held = nil
	w.mu.Unlock()
	for i := len(held) - 1; i >= 0; i-- {
		if err := held[i].Close(); err != nil {
			fmt.Fprintf(os.Stderr, "worker: close: %v\n", err)
		}
	}
}
