package bench

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"msgbench/bench/witness"
	"msgbench/results"
)

// witness takes the first reading of what else happens on this host.
func (e *execution) witness() *witness.Witness {
	var of []witness.Process
	for _, p := range e.processes {
		if p.pid() != 0 { // of another host nothing is seen
			of = append(of, witness.Process{Role: p.role, PID: p.pid(), Allowed: e.sample.Placement[p.name].Allowed})
		}
	}
	return witness.New(e.w.topology, of)
}

// seesAllThere tells whether a process is on another host, and can look at all of the sample's that are there: else it takes those
// for somebody else's.
func (e *execution) seesAllThere(p *process) bool {
	return p.host != nil && p.pid() == 0 && !slices.ContainsFunc(e.processes, func(x *process) bool {
		return x.host != nil && x != p && (x.home == nil || x.home.Space == "" || x.home.Space != p.home.Space)
	})
}

// seenThere adds what the server has seen of its host, in a sample that took so long. here: that host is this one, on which the two
// sides can't see each other's processes.
func (e *execution) seenThere(there *results.Interference, here bool, took time.Duration) error {
	i := e.sample.Interference
	if there == nil {
		return nil
	}
	if err := there.Check(); err != nil {
		return err
	}
	// It ends its window by a message that is on its way while the client says that it is done.
	if most := int64(took + e.w.limits.grace); there.SpanNs > most {
		return fmt.Errorf("it watched its host for %s, and the sample took %s", time.Duration(there.SpanNs), took)
	}
	for _, counts := range []map[string]int64{there.Switches, there.Migrations, there.Minor, there.Major} {
		if _, own := counts[results.Client]; own {
			return errors.New("it counts for the client, which is not on its host")
		}
	}
	if here && i != nil && slices.ContainsFunc(i.CPUs, func(cpu int) bool { return slices.Contains(there.CPUs, cpu) }) {
		e.sample.Interference = nil // each side takes the other for somebody else
		return nil
	}
	if i == nil {
		i = &results.Interference{SpanNs: there.SpanNs}
	}
	i.ServerCPUs = there.CPUs
	i.ShareNs += there.ShareNs
	i.StealNs += there.StealNs
	i.ForeignNs += there.ForeignNs
	i.StepNs += there.StepNs
	for _, c := range []struct{ into, from *map[string]int64 }{
		{&i.Switches, &there.Switches}, {&i.Migrations, &there.Migrations}, {&i.Minor, &there.Minor}, {&i.Major, &there.Major},
	} {
		if *c.into == nil {
			*c.into = map[string]int64{}
		}
		maps.Copy(*c.into, *c.from)
	}
	e.sample.Interference = i
	return nil
}
