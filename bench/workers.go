package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"msgbench/bench/protocol"
	"msgbench/measure"
	"msgbench/pinning"
	"msgbench/results"
	"msgbench/scenarios"
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
	peers    map[string]Peer // by name
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
func NewWorkers(exe string, peers map[string]Peer, policy results.Policy, topology pinning.Topology, plan pinning.Plan) (*Workers, error) {
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
	e := &execution{w: w, cell: cell, sample: &s}
	if err := e.prepare(); err != nil {
		return s, err
	}
	watched, unwatch := context.WithCancelCause(ctx)
	e.died = unwatch
	runErr := e.run(watched)
	endErr := e.end(runErr)
	unwatch(nil)
	s.WallNs = measure.Now() - begun
	if err := os.RemoveAll(e.dir); err != nil {
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
	scenario  scenarios.Scenario
	params    scenarios.Params
	placed    map[string][]int // by name of the process
	sample    *results.Sample
	processes []*process
	died      context.CancelCauseFunc // called with the reason when a process ends before its time
	broker    string // endpoint of the process in the middle; empty where there is none
}

// prepare finds out which processes the cell has and where they belong.
func (e *execution) prepare() (err error) {
	if e.scenario, err = scenarios.Find(e.cell.Scenario); err != nil {
		return err
	}
	e.params, err = CellParams(e.cell)
	if err != nil {
		return err
	}
	if e.placed, err = Place(e.w.plan, e.w.topology, e.cell); err != nil {
		return err
	}
	e.dir = filepath.Join(e.w.dir, fmt.Sprint(e.w.samples))
	e.w.samples++
	if err := os.Mkdir(e.dir, 0o700); err != nil {
		return fmt.Errorf("folder for endpoints: %w", err)
	}
	return nil
}

// run takes the processes from start to result.
func (e *execution) run(ctx context.Context) error {
	driver, err := e.startAll(ctx)
	if err != nil {
		return err
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
	limits := e.w.limits
	var m results.Measurement
	for _, step := range []struct {
		word   string
		into   any
		within time.Duration
	}{
		{protocol.Measuring, nil, e.w.warmupMax() + limits.grace},
		{protocol.Done, nil, e.w.longest(e.cell) + limits.grace},
		{protocol.Result, &m, limits.grace},
	} {
		if err := driver.expect(ctx, step.word, step.into, step.within); err != nil {
			return e.blame(driver, err)
		}
	}
	var others []*results.Measurement
	for _, p := range e.processes {
		if p == driver || p.role == results.Broker {
			continue
		}
		var o results.Measurement
		if err := p.expect(ctx, protocol.Result, &o, limits.grace); err != nil {
			return err
		}
		others = append(others, &o)
	}
	if err := e.scenario.Join(e.params, &m, others); err != nil {
		return err
	}
	if err := e.joinBroker(ctx, &m); err != nil {
		return err
	}
	if err := join(&m, others); err != nil {
		return err
	}
	if err := asked(&m, e.cell, e.w.policy); err != nil {
		return fmt.Errorf("%s: %w", driver.name, err)
	}
	e.sample.Measurement = &m
	return nil
}

// startAll starts the processes, those that listen first, and returns the driver once all of them are connected.
func (e *execution) startAll(ctx context.Context) (driver *process, err error) {
	if Brokered(e.cell) {
		if err := e.startBroker(ctx); err != nil {
			return nil, err
		}
	}
	var endpoints []string
	roles := e.scenario.Roles(e.params)
	for _, role := range roles {
		if !role.Listens {
			continue
		}
		for i := range role.Processes {
			more, err := e.startListening(ctx, role, i)
			if err != nil {
				return nil, err
			}
			endpoints = append(endpoints, more...)
		}
	}
	if driver, err = e.start(e.scenario.Driver(e.params), 0, nil, endpoints); err != nil {
		return nil, err
	}
	if err := driver.expect(ctx, protocol.Ready, &protocol.ReadyInfo{}, e.w.limits.ready); err != nil {
		return nil, e.blame(driver, err)
	}
	return driver, nil
}

// startListening starts one process that listens, and returns its endpoints. One that needs to be told its ports may find
// that somebody else has them by then.
func (e *execution) startListening(ctx context.Context, role scenarios.Role, index int) ([]string, error) {
	for try := 1; ; try++ {
		var ports []int
		if e.w.peers[e.cell.Server].FixedPort {
			var err error
			if ports, err = reservePorts(role.Conns); err != nil {
				return nil, err
			}
		}
		p, err := e.start(role, index, ports, nil)
		if err != nil {
			return nil, err
		}
		var ready protocol.ReadyInfo
		err = p.expect(ctx, protocol.Ready, &ready, e.w.limits.ready)
		if errors.Is(err, errPortTaken) && try < portTries {
			// It has failed, and how it ends is of no interest.
			_ = p.end(leaveTime)
			if err := e.w.janitor.forget(p.cmd.Process.Pid); err != nil {
				return nil, err
			}
			e.processes = slices.DeleteFunc(e.processes, func(x *process) bool { return x == p })
			continue
		}
		if err != nil {
			return nil, err
		}
		if err := checkEndpoints(ready.Endpoints, role.Conns); err != nil {
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
		return ready.Endpoints, nil
	}
}

func checkEndpoints(endpoints []string, want int) error {
	if len(endpoints) != want {
		return fmt.Errorf("ready with %d endpoints, want %d", len(endpoints), want)
	}
	for _, s := range endpoints {
		if s == "" || strings.ContainsAny(s, " \t\n") {
			return fmt.Errorf("ready with the endpoint %q, want one word", s)
		}
	}
	return nil
}

// start starts the worker of one process of a role, as one of its peers.
func (e *execution) start(role scenarios.Role, index int, ports []int, endpoints []string) (*process, error) {
	dims := map[string]string{}
	for _, from := range []map[string]string{e.cell.Defaults, e.cell.Dims} {
		for k, v := range from {
			dims[k] = v
		}
	}
	peer := e.cell.Server
	if !role.Listens {
		peer = e.cell.Client
	}
	name := processName(role, index)
	p, err := startProcess(e.w.spawner, e.w.peers[peer].Path, name, protocol.Args{
		Role: role.Name, Scenario: e.cell.Scenario, Transport: e.cell.Transport, Payload: e.cell.Payload, Rate: e.cell.Rate,
		Warmup: time.Duration(e.w.policy.Warmup), WarmupOps: e.w.warmupOps(), WarmupMax: e.w.warmupMax(),
		Duration: Window(e.w.policy, e.cell), Count: e.w.policy.Count, Dir: e.dir, Ports: ports, Endpoints: endpoints, Broker: e.broker, Dims: dims,
	}, e.placed[name])
	if err != nil {
		return nil, err
	}
	e.processes = append(e.processes, p)
	go e.watch(p)
	return p, e.w.janitor.watch(p.cmd.Process.Pid)
}

// processName is the role, with a number from 1 where it has several processes.
func processName(r scenarios.Role, index int) string {
	if r.Processes > 1 {
		return fmt.Sprintf("%s-%d", r.Name, index+1)
	}
	return r.Name
}

// CellParams are the parameters that the cell itself gives.
func CellParams(c results.Cell) (scenarios.Params, error) {
	p := scenarios.Params{Payload: c.Payload, Rate: c.Rate}
	dims := map[string]string{}
	for _, from := range []map[string]string{c.Defaults, c.Dims} {
		for k, v := range from {
			dims[k] = v
		}
	}
	return p, p.SetDims(dims)
}

// Place puts the processes of a cell on CPUs, by the cell's own plan if it has one.
func Place(plan pinning.Plan, t pinning.Topology, c results.Cell) (map[string][]int, error) {
	s, err := scenarios.Find(c.Scenario)
	if err != nil {
		return nil, err
	}
	p, err := CellParams(c)
	if err != nil {
		return nil, err
	}
	if own := c.Dims["pin"]; own != "" {
		if plan, err = pinning.Parse(own); err != nil {
			return nil, err
		}
	}
	var names []string
	if Brokered(c) {
		names = append(names, results.Broker)
	}
	for _, role := range s.Roles(p) {
		for i := range role.Processes {
			names = append(names, processName(role, i))
		}
	}
	return plan.Place(t, names)
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

// readPlacement asks the kernel where the processes may run, and refuses a sample that runs elsewhere than planned.
func (e *execution) readPlacement() error {
	for _, p := range e.processes {
		pl := results.Placement{PID: p.cmd.Process.Pid, Asked: e.placed[p.name]}
		if e.w.topology.CanPin {
			allowed, err := pinning.ReadBack(pl.PID)
			if err != nil {
				return fmt.Errorf("placement of the %s: %w", p.name, err)
			}
			pl.Allowed = allowed
			if len(pl.Asked) > 0 && pinning.FormatList(pl.Asked) != pinning.FormatList(allowed) {
				return fmt.Errorf("the %s runs on CPU %s where %s was asked for", p.name,
					pinning.FormatList(allowed), pinning.FormatList(pl.Asked))
			}
		}
		e.sample.Placement[p.name] = pl
	}
	e.sample.Relation = e.relation()
	return nil
}

// relation is what the driver shares with the others: the word for each of them, once. A process alone has none.
func (e *execution) relation() string {
	driver := e.processes[len(e.processes)-1]
	var words []string
	for _, p := range e.processes {
		if p == driver {
			continue
		}
		r := pinning.Relation(e.w.topology, e.sample.Placement[driver.name].Allowed, e.sample.Placement[p.name].Allowed)
		if !slices.Contains(words, r) {
			words = append(words, r)
		}
	}
	slices.Sort(words)
	return strings.Join(words, "|")
}

// lastWords is how long after the end of a process what it and the others have said of it is still waited for.
const lastWords = 300 * time.Millisecond

// watch ends the sample when a process is gone, whomever the runner is waiting for: some libraries never tell the other
// side.
func (e *execution) watch(p *process) {
	<-p.exited
	time.Sleep(lastWords)
	e.died(fmt.Errorf("%s ended: %s", p.name, p.exitReason()))
}

// blame looks for the cause of the driver's failure: when another process is the one that broke, the driver only saw the
// connection end.
func (e *execution) blame(driver *process, err error) error {
	for _, p := range e.processes {
		if p == driver {
			continue
		}
		select {
		case l, ok := <-p.lines:
			if !ok {
				<-p.exited
				return fmt.Errorf("%s ended: %s (%w)", p.name, p.exitReason(), err)
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
		} else {
			p.dismiss() // all at once: each may take that long
		}
	}
	deadline := time.Now().Add(wait)
	for _, p := range e.processes {
		err := p.endBy(deadline, wait)
		if runErr == nil && err != nil {
			errs = append(errs, fmt.Errorf("%s after its result: %w", p.name, err))
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
			out[p.name] = s
		}
	}
	return out
}
