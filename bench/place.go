package bench

import (
	"fmt"
	"maps"

	"msgbench/pinning"
	"msgbench/results"
	"msgbench/scenarios"
)

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
	return PlaceOn(plan, t, nil, c)
}

// PlaceOn is Place where the processes that listen are on another host, unless that is nil: each host then places its own, by
// its own topology. Two hosts that are one machine place them together.
func PlaceOn(plan pinning.Plan, t pinning.Topology, h *Host, c results.Cell) (map[string][]int, error) {
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
	var here, there []string
	if Brokered(c) {
		there = append(there, results.Broker)
	}
	for _, role := range s.Roles(p) {
		for i := range role.Processes {
			if role.Listens {
				there = append(there, processName(role, i))
			} else {
				here = append(here, processName(role, i))
			}
		}
	}
	if h == nil || h.Here {
		return plan.Place(t, append(there, here...))
	}
	placed, err := plan.PlaceApart(t, here)
	if err != nil {
		return nil, err
	}
	others, err := plan.PlaceApart(h.Topology, there)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", h.Name, err)
	}
	maps.Copy(placed, others)
	return placed, nil
}

// readBack asks the kernel where a process of this host may run, and how it is scheduled if the run asks for something there. It is
// an error where that is not what was asked for.
func (w *Workers) readBack(name string, pid int, asked []int) (results.Placement, error) {
	pl := results.Placement{PID: pid, Asked: asked}
	if w.topology.CanPin {
		var err error
		if pl.Allowed, err = pinning.ReadBack(pid); err != nil {
			return pl, fmt.Errorf("placement of the %s: %w", name, err)
		}
		if err := asAsked(name, pl); err != nil {
			return pl, err
		}
	}
	if w.policy.RT > 0 || w.policy.Mlock {
		return pl, w.readScheduling(name, &pl)
	}
	return pl, nil
}

// asAsked refuses a process that may run elsewhere than where it was put.
func asAsked(name string, pl results.Placement) error {
	if len(pl.Asked) == 0 || pinning.FormatList(pl.Asked) == pinning.FormatList(pl.Allowed) {
		return nil
	}
	return fmt.Errorf("the %s runs on CPU %s where %s was asked for", name, pinning.FormatList(pl.Allowed), pinning.FormatList(pl.Asked))
}

// readScheduling refuses a process without the real-time priority or the locked memory that the run asked for. A worker of
// another language that does not know the word mlock shows here.
func (w *Workers) readScheduling(name string, pl *results.Placement) error {
	s, err := pinning.ReadScheduling(pl.PID)
	if err != nil {
		return fmt.Errorf("scheduling of the %s: %w", name, err)
	}
	if s.RT != w.policy.RT {
		return fmt.Errorf("not all threads of the %s run at real-time priority %d", name, w.policy.RT)
	}
	if w.policy.Mlock && s.Locked == 0 {
		return fmt.Errorf("the %s has not locked its memory: its peer does not know mlock", name)
	}
	pl.RT, pl.Locked = s.RT, s.Locked
	return nil
}
