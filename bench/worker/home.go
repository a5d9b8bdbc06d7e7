package worker

import (
	"context"
	"fmt"
	"os"
	"time"

	"msgbench/bench/protocol"
	"msgbench/bench/witness"
	"msgbench/machine"
	"msgbench/pinning"
	"msgbench/results"
)

// moveIn makes a process on another host than its runner what the runner would make it here: pinned, and ended when it is no
// longer wanted. The runner sees to that by our standard input; lifetime is for a network that was cut, which does not end it.
func (w *worker) moveIn(args protocol.Args) error {
	if err := pinning.Settle(args.CPUs); err != nil {
		return err
	}
	w.there = &lookout{}
	if t, err := pinning.System(); err == nil { // else nothing is seen
		w.there.topology = &t
	}
	if args.Lifetime > 0 {
		time.AfterFunc(args.Lifetime, func() {
			fmt.Fprintf(os.Stderr, "worker: not stopped within %s: the runner was cut off\n", args.Lifetime)
			w.leave()
		})
	}
	return nil
}

// home is what the runner can't see of a process on another host. What this system does not tell is empty.
func home() *protocol.Home {
	h := &protocol.Home{PID: os.Getpid(), Space: machine.PIDSpace()}
	if cpus, err := pinning.ReadBack(h.PID); err == nil {
		h.CPUs = cpus
	}
	return h
}

// lookout watches this host around the window for a runner on another one, which can't see what else happens here. Of a nil one
// nothing is asked: the runner looks itself.
type lookout struct {
	topology *pinning.Topology
	seen     *witness.Witness
	found    *results.Interference
}

// begin takes the first reading, of the processes of this host.
func (l *lookout) begin(pids map[string][]int) {
	if l == nil || l.topology == nil {
		return
	}
	var of []witness.Process
	for role, list := range pids {
		for _, pid := range list {
			cpus, err := pinning.ReadBack(pid)
			if err != nil {
				return // this system does not tell
			}
			of = append(of, witness.Process{Role: role, PID: pid, Allowed: cpus})
		}
	}
	l.seen = witness.New(*l.topology, of)
}

// end takes the second one.
func (l *lookout) end() {
	if l != nil && l.seen != nil {
		l.found = l.seen.End()
	}
}

// interference is what lay between; nil where that is not known.
func (l *lookout) interference() *results.Interference {
	if l == nil {
		return nil
	}
	return l.found
}

// host is what a runner on another host has to know of this one.
func host() (protocol.HostInfo, error) {
	t, err := pinning.System()
	if err != nil {
		return protocol.HostInfo{}, err
	}
	e := machine.Describe(context.Background(), machine.Options{Topology: &t})
	return protocol.HostInfo{Machine: e.Name(), Boot: machine.Boot(), Installation: machine.Installation(), Kernel: e.Kernel, CPU: e.CPU.Model, Topology: t}, nil
}
