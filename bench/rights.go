package bench

import (
	"fmt"
	"slices"

	"msgbench/pinning"
	"msgbench/results"
)

// CheckRights tells, before anything runs, why real-time priority or locked memory can't be had as the policy asks, in one line
// that begins with the flag.
func CheckRights(p results.Policy, plan pinning.Plan, t pinning.Topology, cells []results.Cell) error {
	if p.Mlock {
		if err := pinning.CheckLock(); err != nil {
			return fmt.Errorf("--mlock: %w", err)
		}
	}
	if p.RT == 0 {
		return nil
	}
	alone := true
	for _, c := range cells {
		placed, err := Place(plan, t, c)
		if err != nil {
			return fmt.Errorf("%s: %w", c.Key(), err)
		}
		if shared := pinning.Shared(placed); shared != "" && spins(c) {
			return fmt.Errorf("--rt: %s: %s, and with wait=spin neither would ever let the other run", c.Key(), shared)
		}
		if spins(c) && len(placed) > len(t.Allowed) {
			return fmt.Errorf("--rt: %s: %d processes spin on %d CPUs (%s), and under it none would ever let another one run", c.Key(),
				len(placed), len(t.Allowed), pinning.FormatList(t.Allowed))
		}
		for _, cpus := range placed {
			alone = alone && len(cpus) > 0 && !slices.ContainsFunc(cpus, func(id int) bool {
				cpu, ok := t.CPU(id)
				return !ok || !cpu.Isolated
			})
		}
	}
	if err := pinning.CheckRT(p.RT, alone); err != nil {
		return fmt.Errorf("--rt: %w", err)
	}
	return nil
}

// spins tells whether the sides of a cell wait without ever giving up their CPU.
func spins(c results.Cell) bool { return c.Dims["wait"] == "spin" || c.Defaults["wait"] == "spin" }
