package pinning

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Place puts each role on CPUs: a map with an entry for every role, empty where the process is not to be pinned. Names of
// roles must differ; a number at the end ("subscriber-2") tells several of one kind apart.
//
// By default each role has a physical core of its own: isolated cores if they suffice, else those without timer ticks
// (nohz_full), else performance cores, else efficiency cores, so that all roles have equal ones; of one NUMA node if they
// suffice. With fewer cores than roles the broker has one and all ends share the others; without a broker
// the first role has the first core, and the others take the rest in turn, then the first. Roles that share a core are
// put on different threads of it where it has them.
func (p Plan) Place(t Topology, roles []string) (map[string][]int, error) {
	if err := p.Check(t); err != nil {
		return nil, err
	}
	placed := make(map[string][]int, len(roles))
	for _, r := range roles {
		placed[r] = nil
	}
	if p.kind == kindNone || !t.CanPin || len(t.Allowed) == 0 {
		return placed, nil
	}
	switch p.kind {
	case kindExplicit:
		p.placeExplicit(t, roles, placed)
	case kindSameCore:
		first := t.units(t.allowed(), 1)[0][0]
		for _, r := range roles {
			placed[r] = []int{first}
		}
	case kindSiblings:
		threads := t.smtCore()
		for i, r := range order(roles) {
			placed[r] = []int{threads[i%len(threads)]}
		}
	case kindNode:
		assign(t.units(t.onNode(p.node), len(roles)), order(roles), placed, true)
	case kindSpread:
		assign(t.units(t.allowed(), len(roles)), order(roles), placed, false)
	default:
		assign(t.units(t.allowed(), len(roles)), order(roles), placed, true)
	}
	return placed, nil
}

// PlaceApart is Place for those of a cell's roles that are on one of several hosts: what the plan says of others does not
// concern it. A plan that brings roles together can't be carried out then.
func (p Plan) PlaceApart(t Topology, roles []string) (map[string][]int, error) {
	switch p.kind {
	case kindSameCore, kindSiblings:
		return nil, fmt.Errorf("--pin %s: two hosts share no core", p)
	case kindExplicit:
		own := map[string][]int{}
		for role, cpus := range p.cpus {
			if slices.ContainsFunc(roles, func(r string) bool { return r == role || base(r) == role }) {
				own[role] = cpus
			}
		}
		p.cpus = own
	}
	return p.Place(t, roles)
}

// placeExplicit follows the plan, and puts roles that it does not name by the default rule on what it leaves free.
// A broadcast has no client and server of its own: its publisher goes where the client would, its subscribers where the
// server would, so that one --pin serves a whole suite.
func (p Plan) placeExplicit(t Topology, roles []string, placed map[string][]int) {
	standIn := map[string]string{"publisher": "client", "subscriber": "server", "client": "publisher", "server": "subscriber"}
	var rest []string
	for _, r := range roles {
		for _, name := range []string{r, base(r), standIn[base(r)]} {
			if cpus, ok := p.cpus[name]; ok {
				placed[r] = slices.Clone(cpus)
				break
			}
		}
		if placed[r] == nil {
			rest = append(rest, r)
		}
	}
	if len(rest) == 0 {
		return
	}
	taken := map[int]bool{}
	for _, cpus := range placed {
		for _, id := range cpus {
			taken[id] = true
		}
	}
	free := slices.DeleteFunc(t.allowed(), func(c CPU) bool { return taken[c.ID] })
	// A thread beside a taken one is not free; but it is better than a taken one.
	apart := slices.DeleteFunc(slices.Clone(free), func(c CPU) bool {
		return slices.ContainsFunc(c.Siblings, func(s int) bool { return taken[s] })
	})
	switch {
	case len(apart) > 0:
		free = apart
	case len(free) == 0:
		free = t.allowed()
	}
	assign(t.units(free, len(rest)), order(rest), placed, true)
}

// order sorts roles by who is placed first: client or publisher, server, broker, subscribers.
func order(roles []string) []string {
	rank := map[string]int{"client": 0, "publisher": 0, "server": 1, "broker": 2}
	rankOf := func(r string) int {
		if n, ok := rank[base(r)]; ok {
			return n
		}
		return len(rank)
	}
	sorted := slices.Clone(roles)
	slices.SortStableFunc(sorted, func(a, b string) int { return cmp.Compare(rankOf(a), rankOf(b)) })
	return sorted
}

// assign gives each role a unit (the threads of a core), and within it the thread that the fewest roles have. Where
// roles outnumber units and a broker is to be kept apart, it has the second unit to itself.
func assign(units [][]int, roles []string, placed map[string][]int, apart bool) {
	users := map[int]int{}
	put := func(role string, unit []int) {
		best := unit[0]
		for _, id := range unit {
			if users[id] < users[best] {
				best = id
			}
		}
		users[best]++
		placed[role] = []int{best}
	}
	isBroker := func(r string) bool { return base(r) == "broker" }
	ends := units
	if apart && len(roles) > len(units) && len(units) > 1 && slices.ContainsFunc(roles, isBroker) {
		ends = slices.Delete(slices.Clone(units), 1, 2)
		for _, r := range roles {
			if isBroker(r) {
				put(r, units[1])
			}
		}
		roles = slices.DeleteFunc(slices.Clone(roles), isBroker)
	}
	for i, r := range roles {
		put(r, ends[i%len(ends)])
	}
}

// units is the n best physical cores, each as its usable threads, in the order in which they are given away: fewer where
// there are fewer. A single core with several threads counts as so many, as two-CPU cloud machines often are.
func (t Topology) units(from []CPU, n int) [][]int {
	cores := t.cores(pick(t, from, n))
	if len(cores) > n {
		cores = cores[:n]
	}
	if all := t.cores(from); len(all) == 1 {
		cores = nil
		for _, id := range all[0] {
			cores = append(cores, []int{id})
		}
	}
	return cores
}

// pick chooses the CPUs to give away when n cores are wanted: the best kind that has enough, which are equal ones if any are,
// on one node if one has enough. With two sockets and CPUs numbered across them, ascending order alone would part client and server.
func pick(t Topology, from []CPU, n int) []CPU {
	kinds := []func(CPU) bool{
		func(c CPU) bool { return c.Isolated && !c.Efficient },
		func(c CPU) bool { return c.Isolated && c.Efficient },
		func(c CPU) bool { return c.Isolated },
		func(c CPU) bool { return c.NohzFull && !c.Isolated && !c.Efficient },
		func(c CPU) bool { return !c.Isolated && !c.Efficient },
		func(c CPU) bool { return !c.Isolated && c.Efficient },
		func(CPU) bool { return true },
	}
	for _, kind := range kinds {
		cpus := filter(from, kind)
		for _, place := range []func(CPU) int{func(c CPU) int { return c.Node }, func(c CPU) int { return c.Package }} {
			for _, v := range values(cpus, place) {
				if here := filter(cpus, func(c CPU) bool { return place(c) == v }); len(t.cores(here)) >= n {
					return here
				}
			}
		}
		if len(t.cores(cpus)) >= n {
			return cpus
		}
	}
	return from
}

// cores groups CPUs by physical core, in ascending order.
func (t Topology) cores(cpus []CPU) [][]int {
	at := map[int]int{}
	var out [][]int
	for _, c := range cpus {
		i, ok := at[c.core()]
		if !ok {
			i = len(out)
			at[c.core()] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], c.ID)
	}
	return out
}

// smtCore is the allowed threads of the first core that has at least two; nil where none has.
func (t Topology) smtCore() []int {
	for _, kind := range []func(CPU) bool{func(c CPU) bool { return c.Isolated }, func(CPU) bool { return true }} {
		for _, core := range t.cores(filter(t.allowed(), kind)) {
			if len(core) > 1 {
				return core
			}
		}
	}
	return nil
}

func (t Topology) onNode(n int) []CPU {
	return filter(t.allowed(), func(c CPU) bool { return c.Node == n })
}

func filter(cpus []CPU, keep func(CPU) bool) []CPU {
	return slices.DeleteFunc(slices.Clone(cpus), func(c CPU) bool { return !keep(c) })
}

// values is the distinct known values of a property, ascending.
func values(cpus []CPU, of func(CPU) int) []int {
	seen := map[int]bool{}
	for _, c := range cpus {
		if of(c) != Unknown {
			seen[of(c)] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// Shared tells which roles have CPUs in common, "client, server on CPU 0", with "; " between CPUs; empty where none have.
func Shared(placed map[string][]int) string {
	on := map[int][]string{}
	for _, r := range order(slices.Sorted(maps.Keys(placed))) {
		for _, c := range placed[r] {
			on[c] = append(on[c], r)
		}
	}
	var parts []string
	for _, c := range slices.Sorted(maps.Keys(on)) {
		if len(on[c]) > 1 {
			parts = append(parts, strings.Join(on[c], ", ")+" on CPU "+FormatList([]int{c}))
		}
	}
	return strings.Join(parts, "; ")
}
