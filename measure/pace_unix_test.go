//go:build unix

package measure

import (
	"syscall"
	"testing"
	"time"
)

// A signal ends a sleep early; Wait must go on.
func TestWaitInterrupted(t *testing.T) {
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
				interrupt()
			}
		}
	}()
	var p Pacer
	deadline := Now() + int64(60*time.Millisecond)
	if now := p.Wait(deadline); now < deadline {
		t.Errorf("back %d ns early", deadline-now)
	}
	close(stop)
	<-done
}

// interrupt sends this process the signal that the Go runtime uses itself.
func interrupt() { _ = syscall.Kill(syscall.Getpid(), syscall.SIGURG) }
