//go:build !linux

package bench

import (
	"os"
	"time"
)

func interruptSignals() []os.Signal { return []os.Signal{os.Interrupt} }

type handle struct{ p *os.Process }

func openHandle(pid int) (handle, error) {
	p, err := os.FindProcess(pid)
	return handle{p}, err
}

func (h handle) close() { h.p.Release() }

// endBy waits until the deadline, then kills the process: here nothing tells when a process that is no child has ended.
func (h handle) endBy(deadline time.Time) {
	time.Sleep(time.Until(deadline))
	_ = h.p.Kill()
	h.close()
}
