package bench

import (
	"fmt"

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
