package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"msgbench/bench"
	"msgbench/machine"
	"msgbench/pinning"
	"msgbench/results"
)

// placed is where the roles of some cells run.
type placed struct {
	where string // client on CPU 0, server on CPU 1
	cells int
	notes []string
}

// place puts the roles of all cells on CPUs, and keeps which placements there are.
func (c *chosen) place() error {
	quota := machine.CPUQuota()
	at := map[string]int{}
	for _, cell := range c.cells {
		roles, err := bench.PlaceOn(c.plan, c.topology, c.host, cell)
		if err != nil {
			return fmt.Errorf("%s: %w", cell.Key(), err)
		}
		there := map[string]string{} // host by process
		if c.host != nil {
			for name := range roles {
				if name != results.Client {
					there[name] = c.host.Name
				}
			}
		}
		where := whereText(roles, there)
		i, ok := at[where]
		if !ok {
			i = len(c.placed)
			at[where] = i
			c.placed = append(c.placed, placed{where: where, notes: pinning.Notes(c.topology, here(roles, there), quota)})
		}
		c.placed[i].cells++
	}
	return nil
}

// here is the processes of this host.
func here(roles map[string][]int, there map[string]string) map[string][]int {
	out := maps.Clone(roles)
	maps.DeleteFunc(out, func(name string, _ []int) bool { return there[name] != "" })
	return out
}

// roleRank is the order in which roles are named.
var roleRank = []string{results.Client, results.Publisher, results.Server, results.Subscriber, results.Broker}

// whereText is "client on CPU 0, server on CPU 1"; several processes of a role stand together. there are the hosts of those that
// are not here.
func whereText(roles map[string][]int, there map[string]string) string {
	on, of := map[string][]int{}, map[string]string{}
	for name, cpus := range roles {
		role := results.RoleOf(name)
		on[role] = append(on[role], cpus...)
		if h := there[name]; h != "" {
			of[role] = " of " + h
		}
	}
	var parts []string
	for _, role := range slices.SortedFunc(maps.Keys(on), func(a, b string) int { return slices.Index(roleRank, a) - slices.Index(roleRank, b) }) {
		if len(on[role]) == 0 {
			return "not pinned"
		}
		parts = append(parts, role+" on CPU "+pinning.FormatList(on[role])+of[role])
	}
	s := strings.Join(parts, ", ")
	if pinning.Shared(here(roles, there)) != "" {
		s += " (shared)"
	}
	return s
}

// placementText says in a line where the processes of this run will be.
func placementText(c chosen) string {
	var all []string
	for _, p := range c.placed {
		all = append(all, p.where)
	}
	return strings.Join(all, "; ")
}

// readBack says where the processes of a run were, as the kernel told while they ran.
type readBack map[string]bool

func (b readBack) add(s results.Sample) {
	if len(s.Placement) == 0 {
		return
	}
	roles, there := map[string][]int{}, map[string]string{}
	for name, p := range s.Placement {
		roles[name], there[name] = p.Allowed, p.Host
	}
	b[whereText(roles, there)] = true
}

func (b readBack) String() string { return strings.Join(slices.Sorted(maps.Keys(b)), "; ") }
