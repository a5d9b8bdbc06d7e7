package worker

import (
	"context"
	"fmt"
	"os"
	"time"

	"msgbench/bench/protocol"
	"msgbench/machine"
	"msgbench/pinning"
)

// moveIn makes a process on another host than its runner what the runner would make it here: pinned, and ended when it is no
// longer wanted. The runner sees to that by our standard input; lifetime is for a network that was cut, which does not end it.
func (w *worker) moveIn(args protocol.Args) error {
	if err := pinning.Settle(args.CPUs); err != nil {
		return err
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

// host is what a runner on another host has to know of this one.
func host() (protocol.HostInfo, error) {
	t, err := pinning.System()
	if err != nil {
		return protocol.HostInfo{}, err
	}
	e := machine.Describe(context.Background(), machine.Options{Topology: &t})
	return protocol.HostInfo{Machine: e.Name(), Boot: machine.Boot(), Kernel: e.Kernel, CPU: e.CPU.Model, Topology: t}, nil
}
