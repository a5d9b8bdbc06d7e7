package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"msgbench/bench/protocol"
	"msgbench/measure"
	"msgbench/pinning"
	"msgbench/results"
	"msgbench/scenarios"
)

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
	broker    string                  // endpoint of the process in the middle; empty where there is none
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
	e.params.Window, e.params.Count = Window(e.w.policy, e.cell), e.w.policy.Count
	if e.placed, err = PlaceOn(e.w.plan, e.w.topology, e.w.host, e.cell); err != nil {
		return err
	}
	e.dir = filepath.Join(e.w.dir, fmt.Sprint(e.w.samples))
	e.w.samples++
	if err := os.Mkdir(e.dir, 0o700); err != nil {
		return fmt.Errorf("folder for endpoints: %w", err)
	}
	return nil
}

// through lets run start the processes and take what they say, ends them, and removes their folder. failed is why the sample is
// none; with err there is none to speak of: ctx has ended, or the folder stays.
func (e *execution) through(ctx context.Context, begun int64, run func(context.Context) error) (failed, err error) {
	watched, unwatch := context.WithCancelCause(ctx)
	e.died = unwatch
	runErr := run(watched)
	endErr := e.end(runErr)
	unwatch(nil)
	e.sample.WallNs = measure.Now() - begun
	if err := os.RemoveAll(e.dir); err != nil {
		return nil, err
	}
	return errors.Join(runErr, endErr), ctx.Err()
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
	seen := e.witness()
	started := measure.Now()
	for _, p := range e.processes {
		if err := p.say(protocol.Start, e.startInfo(p)); err != nil {
			return err
		}
	}
	limits := e.w.limits
	var m results.Measurement
	var took time.Duration // from start to done
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
		if step.word == protocol.Done {
			took = time.Duration(measure.Now() - started)
			e.sample.Interference = seen.End()
		}
	}
	var others []*results.Measurement
	for _, p := range e.processes {
		if p == driver || p.role == results.Broker {
			continue
		}
		var o results.Measurement
		said := protocol.ResultInfo{Measurement: &o}
		if err := p.expect(ctx, protocol.Result, &said, limits.grace); err != nil {
			return err
		}
		if e.seesAllThere(p) {
			if err := e.seenThere(said.Interference, p.host.Here, took); err != nil {
				return fmt.Errorf("%s: %w", p.label(), err)
			}
		}
		if err := own(&o, p.role); err != nil {
			return fmt.Errorf("%s: %w", p.label(), err)
		}
		others = append(others, &o)
	}
	if err := own(&m, driver.role); err != nil {
		return fmt.Errorf("%s: %w", driver.name, err)
	}
	if err := e.joinBroker(ctx, &m, others); err != nil {
		return err
	}
	if err := e.scenario.Join(e.params, &m, others); err != nil {
		return err
	}
	if e.w.host != nil {
		borrowCPU(&m, others)
	}
	if err := join(&m, others); err != nil {
		return err
	}
	if err := errors.Join(asked(&m, e.cell, e.w.policy), possible(&m, e.cell, e.mostCPU(took), took)); err != nil {
		return fmt.Errorf("%s: %w", driver.name, err)
	}
	e.sample.Measurement = &m
	return nil
}

// mostCPU is the most CPU time that each role can have had in that time.
func (e *execution) mostCPU(took time.Duration) map[string]time.Duration {
	most := map[string]time.Duration{}
	for _, p := range e.processes {
		cpus := runtime.NumCPU()
		if p.host != nil {
			cpus = max(len(p.host.Topology.CPUs), 1)
		}
		most[p.role] += took * time.Duration(cpus)
	}
	return most
}

// startInfo is what a process is told at the start: the PIDs of those that it can see, in all roles.
func (e *execution) startInfo(to *process) protocol.StartInfo {
	s := protocol.StartInfo{PIDs: map[string][]int{}}
	for _, p := range e.processes {
		switch {
		case to.home == nil && p.home == nil:
			s.PIDs[p.role] = append(s.PIDs[p.role], p.cmd.Process.Pid)
		case to == p, to.home != nil && p.home != nil && to.home.Space != "" && to.home.Space == p.home.Space:
			s.PIDs[p.role] = append(s.PIDs[p.role], p.home.PID)
		}
	}
	return s
}

// readPlacement asks the kernel where the processes may run, and refuses a sample that runs elsewhere than planned.
func (e *execution) readPlacement() error {
	for _, p := range e.processes {
		pl := results.Placement{PID: p.cmd.Process.Pid, Asked: e.placed[p.name]}
		var err error
		if p.home != nil {
			pl.PID, pl.Host, pl.Allowed = p.home.PID, p.host.Name, p.home.CPUs
			err = asAsked(p.label(), pl)
		} else {
			pl, err = e.w.readBack(p.name, p.cmd.Process.Pid, e.placed[p.name])
		}
		if err != nil {
			return err
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
		r := pinning.Remote
		if p.host == driver.host {
			r = pinning.Relation(e.w.topology, e.sample.Placement[driver.name].Allowed, e.sample.Placement[p.name].Allowed)
		}
		if !slices.Contains(words, r) {
			words = append(words, r)
		}
	}
	slices.Sort(words)
	return strings.Join(words, "|")
}
