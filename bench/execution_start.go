package bench

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"msgbench/bench/protocol"
	"msgbench/pinning"
	"msgbench/scenarios"
)

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
			return nil, e.blame(p, err) // a server dials the broker
		}
		if err := p.arrived(ready, role.Conns); err != nil {
			return nil, err
		}
		return ready.Endpoints, nil
	}
}

// arrived takes what a process says that listens.
func (p *process) arrived(ready protocol.ReadyInfo, conns int) error {
	if err := checkEndpoints(ready.Endpoints, conns); err != nil {
		return fmt.Errorf("%s: %w", p.label(), err)
	}
	if p.host != nil && ready.Home == nil {
		return fmt.Errorf("%s: ready without its PID there", p.label())
	}
	p.home = ready.Home
	return nil
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
	var profile string
	var host *Host
	if role.Listens {
		host = e.w.host
	}
	if e.w.profiles != "" && peer == BuiltIn && host == nil {
		profile = filepath.Join(e.w.profiles, fmt.Sprintf("%s.%03d.%s.pprof", strings.ReplaceAll(e.cell.Key(), "/", "_"), e.w.samples, name))
	}
	args := protocol.Args{
		Role: role.Name, Scenario: e.cell.Scenario, Transport: e.cell.Transport, Payload: e.cell.Payload, Rate: e.cell.Rate,
		Warmup: time.Duration(e.w.policy.Warmup), WarmupOps: e.w.warmupOps(), WarmupMax: e.w.warmupMax(),
		Duration: Window(e.w.policy, e.cell), Count: e.w.policy.Count, Dir: e.dir, Ports: ports, Endpoints: endpoints, Broker: e.broker,
		Profile: profile, Mlock: e.w.policy.Mlock, Dims: dims,
	}
	p, err := e.w.start(args, e.w.peers[peer].Path, name, host, pinning.Options{CPUs: e.placed[name], RT: e.w.policy.RT})
	if err != nil {
		return nil, err
	}
	e.processes = append(e.processes, p)
	go e.watch(p)
	return p, e.w.janitor.watch(p.cmd.Process.Pid)
}
