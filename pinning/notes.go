package pinning

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Notes are what a reader should know of a placement, a line each: roles that share CPUs or cores, cores of different kinds,
// sockets and NUMA nodes, isolation, and a quota (CPUs' worth of time that a cgroup grants; 0: no limit) that is less than
// they can use. It is empty where nothing is odd.
func Notes(t Topology, placed map[string][]int, quota float64) []string {
	roles := order(slices.Sorted(maps.Keys(placed)))
	cpus := map[int]CPU{}
	for _, r := range roles {
		for _, id := range placed[r] {
			if c, ok := t.CPU(id); ok {
				cpus[id] = c
			}
		}
	}
	var notes []string
	add := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	if s := Shared(placed); s != "" {
		add("shared: %s", s)
	}
	if s := besides(cpus); s != "" {
		add("two threads of one core: %s", s)
	}
	if p, e := split(cpus, func(c CPU) bool { return !c.Efficient }); len(p) > 0 && len(e) > 0 {
		add("cores of two kinds: performance %s, efficiency %s; roles on them do not compare", FormatList(p), FormatList(e))
	} else if len(e) > 0 && slices.ContainsFunc(t.allowed(), func(c CPU) bool { return !c.Efficient }) {
		add("all on efficiency cores: there are fewer performance cores than roles")
	}
	if in, out := split(cpus, func(c CPU) bool { return c.Isolated }); len(in) > 0 && len(out) > 0 {
		add("isolated: %s; not isolated: %s", FormatList(in), FormatList(out))
	} else if len(in) > 0 {
		add("isolated%s: %s", ticks(cpus), FormatList(in))
	}
	if v := several(cpus, func(c CPU) int { return c.Package }); v != "" {
		add("across sockets %s", v)
	} else if v := several(cpus, func(c CPU) int { return c.Node }); v != "" {
		add("across NUMA nodes %s", v)
	}
	if n := len(cpus); quota > 0 && n > 0 && quota < float64(n) {
		add("the cgroup's quota of %.3g CPUs is less than the %d that they use: it will stop them", quota, n)
	}
	return notes
}

// split is the CPUs that have a property and those that do not, ascending.
func split(cpus map[int]CPU, has func(CPU) bool) (with, without []int) {
	for _, id := range slices.Sorted(maps.Keys(cpus)) {
		if has(cpus[id]) {
			with = append(with, id)
		} else {
			without = append(without, id)
		}
	}
	return with, without
}

// besides tells which CPUs are threads of one core.
func besides(cpus map[int]CPU) string {
	on := map[int][]int{}
	for id, c := range cpus {
		on[c.core()] = append(on[c.core()], id)
	}
	var parts []string
	for _, core := range slices.Sorted(maps.Keys(on)) {
		if len(on[core]) > 1 {
			parts = append(parts, FormatList(on[core]))
		}
	}
	return strings.Join(parts, "; ")
}

// several lists the values of a property where there is more than one.
func several(cpus map[int]CPU, of func(CPU) int) string {
	v := values(slices.Collect(maps.Values(cpus)), of)
	if len(v) < 2 {
		return ""
	}
	return strings.ReplaceAll(FormatList(v), "-", " to ")
}

// ticks says that none of the CPUs has a timer tick, if so.
func ticks(cpus map[int]CPU) string {
	if _, with := split(cpus, func(c CPU) bool { return c.NohzFull }); len(with) > 0 {
		return ""
	}
	return ", without timer ticks"
}
