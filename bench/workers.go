package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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
}

var defaultLimits = limits{ready: 10 * time.Second, grace: 10 * time.Second, stop: 2 * time.Second}

// Workers is the Sampler that starts the workers of a cell's peers.
type Workers struct {
	peers    map[string]string // path by name
	policy   results.Policy
	topology pinning.Topology
	plan     pinning.Plan
	dir      string // for endpoints, mode 0700
	spawner  *pinning.Spawner
	janitor  *janitor
	limits   limits
	samples  int
}

var _ Sampler = (*Workers)(nil)

// NewWorkers prepares a folder for endpoints, and the janitor that will remove it. Close ends both.
func NewWorkers(exe string, peers map[string]string, policy results.Policy, topology pinning.Topology, plan pinning.Plan) (*Workers, error) {
	dir, err := os.MkdirTemp("", "msgbench-")
	if err != nil {
		return nil, fmt.Errorf("folder for endpoints: %w (set TMPDIR to a folder that can be written)", err)
	}
	j, err := startJanitor(exe, dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &Workers{peers: peers, policy: policy, topology: topology, plan: plan, dir: dir,
		spawner: pinning.NewSpawner(), janitor: j, limits: defaultLimits}, nil
}

// Close ends what NewWorkers started and removes the folder of the endpoints.
func (w *Workers) Close() error {
	w.spawner.Close()
	return w.janitor.close()
}

// Sample starts the processes of a cell, takes them through one window, and joins what they say.
func (w *Workers) Sample(ctx context.Context, cell results.Cell) (results.Sample, error) {
	s := results.Sample{Cell: cell.Key(), Started: time.Now().UTC(), Placement: map[string]results.Placement{}}
	begun := measure.Now()
	placed, err := w.plan.Place(w.topology, []string{results.Client, results.Server})
	if err != nil {
		return s, err
	}
	dir := filepath.Join(w.dir, fmt.Sprint(w.samples))
	w.samples++
	if err := os.Mkdir(dir, 0o700); err != nil {
		return s, fmt.Errorf("folder for endpoints: %w", err)
	}
	e := &execution{w: w, cell: cell, dir: dir, placed: placed, sample: &s}
	runErr := e.run(ctx)
	endErr := e.end(runErr)
	s.WallNs = measure.Now() - begun
	if err := os.RemoveAll(dir); err != nil {
		return s, err
	}
	if ctx.Err() != nil {
		return s, ctx.Err()
	}
	if err := errors.Join(runErr, endErr); err != nil {
		s.Outcome, s.Measurement = results.Failed, nil
		s.Reason = oneLine(err.Error())
		s.Stderr = e.stderr()
		return s, nil
	}
	judge(&s, cell, w.policy)
	return s, nil
}

// execution is one sample while it runs.
type execution struct {
	w         *Workers
	cell      results.Cell
	dir       string
	placed    map[string][]int
	sample    *results.Sample
	processes []*process
}

// run takes the processes from start to result.
func (e *execution) run(ctx context.Context) error {
	server, err := e.start(results.Server, e.cell.Server, "")
	if err != nil {
		return err
	}
	var ready protocol.ReadyInfo
	if err := server.expect(ctx, protocol.Ready, &ready, e.w.limits.ready); err != nil {
		return err
	}
	if ready.Endpoint == "" || strings.ContainsAny(ready.Endpoint, " \t\n") {
		return fmt.Errorf("server is ready without an endpoint of one word: %q", ready.Endpoint)
	}
	client, err := e.start(results.Client, e.cell.Client, ready.Endpoint)
	if err != nil {
		return err
	}
	if err := client.expect(ctx, protocol.Ready, &protocol.ReadyInfo{}, e.w.limits.ready); err != nil {
		return e.blame(client, err)
	}
	if err := e.readPlacement(); err != nil {
		return err
	}
	start := protocol.StartInfo{PIDs: map[string][]int{}}
	for _, p := range e.processes {
		start.PIDs[p.role] = append(start.PIDs[p.role], p.cmd.Process.Pid)
	}
	for _, p := range e.processes {
		if err := p.say(protocol.Start, start); err != nil {
			return err
		}
	}
	var m, ms results.Measurement
	for _, step := range []struct {
		word   string
		into   any
		within time.Duration
	}{
		{protocol.Measuring, nil, MaxWarmup + e.w.limits.grace},
		{protocol.Done, nil, e.w.window(e.cell) + e.w.limits.grace},
		{protocol.Result, &m, e.w.limits.grace},
	} {
		if err := client.expect(ctx, step.word, step.into, step.within); err != nil {
			return e.blame(client, err)
		}
	}
	if err := server.expect(ctx, protocol.Result, &ms, e.w.limits.grace); err != nil {
		return err
	}
	if err := join(&m, &ms); err != nil {
		return err
	}
	e.sample.Measurement = &m
	return nil
}

// start starts the worker of one role, as one of its peers.
func (e *execution) start(role, peer, endpoint string) (*process, error) {
	dims := map[string]string{}
	for _, from := range []map[string]string{e.cell.Defaults, e.cell.Dims} {
		for k, v := range from {
			dims[k] = v
		}
	}
	p, err := startProcess(e.w.spawner, e.w.peers[peer], protocol.Args{
		Role: role, Scenario: e.cell.Scenario, Transport: e.cell.Transport, Payload: e.cell.Payload, Rate: e.cell.Rate,
		Warmup: time.Duration(e.w.policy.Warmup), WarmupOps: WarmupOps, WarmupMax: MaxWarmup,
		Duration: e.w.window(e.cell), Dir: e.dir, Endpoint: endpoint, Dims: dims,
	}, e.placed[role])
	if err != nil {
		return nil, err
	}
	e.processes = append(e.processes, p)
	return p, e.w.janitor.watch(p.cmd.Process.Pid)
}

// window is how long a cell is measured.
func (w *Workers) window(c results.Cell) time.Duration { return Window(w.policy, c) }

// Window is how long one sample of a cell is measured.
func Window(p results.Policy, c results.Cell) time.Duration {
	if c.Rate > 0 {
		return time.Duration(p.Duration)
	}
	return time.Duration(p.MaxDuration)
}

// readPlacement asks the kernel where the processes may run, and refuses a sample that runs elsewhere than planned.
func (e *execution) readPlacement() error {
	for _, p := range e.processes {
		pl := results.Placement{PID: p.cmd.Process.Pid, Asked: e.placed[p.role]}
		if e.w.topology.CanPin {
			allowed, err := pinning.ReadBack(pl.PID)
			if err != nil {
				return fmt.Errorf("placement of the %s: %w", p.role, err)
			}
			pl.Allowed = allowed
			if len(pl.Asked) > 0 && pinning.FormatList(pl.Asked) != pinning.FormatList(allowed) {
				return fmt.Errorf("the %s runs on CPU %s where %s was asked for", p.role,
					pinning.FormatList(allowed), pinning.FormatList(pl.Asked))
			}
		}
		e.sample.Placement[p.role] = pl
	}
	e.sample.Relation = pinning.Relation(e.w.topology, e.sample.Placement[results.Client].Allowed,
		e.sample.Placement[results.Server].Allowed)
	return nil
}

// blame looks for the cause of a client's failure: when its server is the one that broke, the client only saw the
// connection end.
func (e *execution) blame(client *process, err error) error {
	for _, p := range e.processes {
		if p == client {
			continue
		}
		select {
		case l, ok := <-p.lines:
			if !ok {
				<-p.exited
				return fmt.Errorf("%s ended: %s (%w)", p.role, p.exitReason(), err)
			}
			if l.word == protocol.Error || l.err != nil {
				return fmt.Errorf("%w (%w)", p.take(l, protocol.Result, nil), err)
			}
		case <-time.After(200 * time.Millisecond):
		}
	}
	return err
}

// end stops the processes, or after an error kills them, and waits until they are gone.
func (e *execution) end(runErr error) error {
	var errs []error
	wait := e.w.limits.stop
	if runErr != nil {
		wait = leaveTime // its standard input ends, so it removes what it made and leaves
	}
	for _, p := range e.processes {
		if runErr == nil {
			errs = append(errs, p.say(protocol.Stop, nil))
		}
	}
	for _, p := range e.processes {
		err := p.end(wait)
		if runErr == nil && err != nil {
			errs = append(errs, fmt.Errorf("%s after its result: %w", p.role, err))
		}
		errs = append(errs, e.w.janitor.forget(p.cmd.Process.Pid))
	}
	return errors.Join(errs...)
}

// stderr is what the processes wrote there, by role; nil if nothing.
func (e *execution) stderr() map[string]string {
	var out map[string]string
	for _, p := range e.processes {
		if s := p.stderr.String(); s != "" {
			if out == nil {
				out = map[string]string{}
			}
			out[p.role] = s
		}
	}
	return out
}
