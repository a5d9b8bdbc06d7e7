package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"msgbench/bench/protocol"
	"msgbench/measure"
	"msgbench/pinning"
	"msgbench/results"
)

// Sampler executes one cell once. An error means that no sample can be taken any more, not that this one failed: that is
// in the sample.
type Sampler interface {
	Sample(ctx context.Context, cell results.Cell) (results.Sample, error)
}

// limits are how long the parts of a sample may take, beyond what was asked for, before it fails.
type limits struct {
	ready time.Duration // from the start of a process to its ready
	grace time.Duration // beyond warm-up and window
	stop  time.Duration // from stop to the end of a process
	leave time.Duration // to that end after a failure
}

var defaultLimits = limits{ready: 10 * time.Second, grace: 10 * time.Second, stop: 2 * time.Second, leave: leaveTime}

// The limits of processes on another host.
const (
	remoteReady = 30 * time.Second
	remoteStop  = 5 * time.Second
)

// Workers is the Sampler that starts the workers of a cell's peers.
type Workers struct {
	exe      string          // this msgbench
	peers    map[string]Peer // by name
	policy   results.Policy
	topology pinning.Topology
	plan     pinning.Plan
	dir      string // for endpoints, mode 0700
	spawner  *pinning.Spawner
	janitor  *janitor
	limits   limits
	samples  int
	host     *Host  // of the processes that listen; nil: here
	profiles string // folder for profiles of the workers in Go; empty: none
}

var _ Sampler = (*Workers)(nil)

// NewWorkers prepares a folder for endpoints, and the janitor that will remove it. Close ends both.
func NewWorkers(exe string, peers map[string]Peer, policy results.Policy, topology pinning.Topology, plan pinning.Plan) (*Workers, error) {
	// The janitor first: a runner that is killed between the two would leave the folder.
	dir := newTempDirName()
	j, err := startJanitor(exe, dir)
	if err != nil {
		return nil, err
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, errors.Join(fmt.Errorf("folder for endpoints: %w (set TMPDIR to a folder that can be written)", err), j.close())
	}
	return &Workers{exe: exe, peers: peers, policy: policy, topology: topology, plan: plan, dir: dir,
		spawner: pinning.NewSpawner(), janitor: j, limits: defaultLimits}, nil
}

// ProfileInto makes every worker of the built-in peer write a CPU profile into dir, from its start to its result. Numbers go on
// after those that are there: a run that is resumed does not write over them.
func (w *Workers) ProfileInto(dir string) error {
	there, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	w.profiles = dir
	for _, f := range there {
		if parts := strings.Split(f.Name(), "."); len(parts) > 3 {
			n, _ := strconv.Atoi(parts[len(parts)-3]) // 0 for what is none of ours
			w.samples = max(w.samples, n)
		}
	}
	return nil
}

// ServeOn makes all processes that listen run on another host. Cells are then those of OnTwoHosts.
func (w *Workers) ServeOn(h *Host) {
	w.host = h
	// What starts them there has a way to go, and so has their end.
	w.limits.ready, w.limits.stop, w.limits.leave = remoteReady, remoteStop, remoteStop
}

// start starts the worker of one process: here, or what starts it on another host.
func (w *Workers) start(args protocol.Args, path, name string, host *Host, o pinning.Options) (*process, error) {
	if host == nil {
		return startProcess(w.spawner, append([]string{path, "worker"}, args.Words()...), name, args.Role, nil, o)
	}
	args.Dir, args.Listen, args.CPUs, args.Lifetime = "", host.Address, o.CPUs, w.lifetime(args)
	words, err := host.command(args)
	if err != nil {
		return nil, err
	}
	return startProcess(w.spawner, words, name, args.Role, host, pinning.Options{})
}

// Close ends what NewWorkers started and removes the folder of the endpoints.
func (w *Workers) Close() error {
	w.spawner.Close()
	// The janitor has removed the folder, unless somebody has ended it before.
	return errors.Join(w.janitor.close(), os.RemoveAll(w.dir))
}

// Sample starts the processes of a cell, takes them through one window, and joins what they say.
func (w *Workers) Sample(ctx context.Context, cell results.Cell) (results.Sample, error) {
	s := results.Sample{Cell: cell.Key(), Started: time.Now().UTC(), Placement: map[string]results.Placement{}}
	begun := measure.Now()
	e := &execution{w: w, cell: cell, sample: &s}
	if err := e.prepare(); err != nil {
		return s, err
	}
	failed, err := e.through(ctx, begun, e.run)
	if err != nil {
		return s, err
	}
	if failed != nil {
		s.Outcome, s.Measurement = results.Failed, nil
		s.Reason = oneLine(failed.Error())
		s.Stderr = e.stderr()
		return s, nil
	}
	judge(&s, cell, w.policy)
	return s, nil
}

// warmupOps and warmupMax are the warm-up's limits beside its length.
func (w *Workers) warmupOps() int64 {
	if w.policy.WarmupOps > 0 {
		return w.policy.WarmupOps
	}
	return WarmupOps
}

func (w *Workers) warmupMax() time.Duration {
	if w.policy.WarmupOps > 0 {
		return MaxCounted
	}
	return MaxWarmup
}

// longest is how long a window may take.
func (w *Workers) longest(c results.Cell) time.Duration {
	if w.policy.Count > 0 {
		return MaxCounted
	}
	return Window(w.policy, c)
}

// Window is how long one sample of a cell is measured.
func Window(p results.Policy, c results.Cell) time.Duration {
	if c.Rate > 0 {
		return time.Duration(p.Duration)
	}
	return time.Duration(p.MaxDuration)
}
