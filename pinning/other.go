//go:build !linux

package pinning

import (
	"errors"
	"fmt"
	"runtime"
)

// System is the topology of this machine: here only the number of CPUs is known, and processes can't be pinned.
func System() (Topology, error) {
	var t Topology
	for c := range runtime.NumCPU() {
		t.CPUs = append(t.CPUs, CPU{ID: c, Package: Unknown, Die: Unknown, Cluster: Unknown, Node: Unknown})
		t.Allowed = append(t.Allowed, c)
	}
	return t, nil
}

// Affinity is an error that wraps errors.ErrUnsupported.
func Affinity(tid int) ([]int, error) {
	return nil, fmt.Errorf("affinity of %d: %w", tid, errors.ErrUnsupported)
}

// ReadBack is an error that wraps errors.ErrUnsupported.
func ReadBack(pid int) ([]int, error) {
	return nil, fmt.Errorf("read placement of process %d back: %w", pid, errors.ErrUnsupported)
}

func (s *Spawner) serve() {
	for {
		select {
		case j := <-s.jobs:
			if j.o.RT > 0 {
				j.result <- fmt.Errorf("start %s: real-time priority: %w", j.cmd.Path, errNotHere)
				continue
			}
			j.result <- j.cmd.Start() // unpinned: there is no affinity here
		case <-s.done:
			return
		}
	}
}
