package pinning

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// The kinds of plans, which are also what --pin takes.
const (
	kindDefault  = ""
	kindNone     = "none"
	kindSpread   = "spread"
	kindSameCore = "same-core"
	kindSiblings = "siblings"
	kindNode     = "node"
	kindExplicit = "explicit"
)

// Help is the values of --pin in one line.
const Help = "none, spread, same-core, siblings, node:N, or client=0,server=1[,broker=2]"

// roleNames are the roles a plan may name. They are results.Client and so on; that package has no need to be known here.
var roleNames = []string{"client", "server", "broker", "publisher", "subscriber"}

// Plan says how the roles of a cell are put on CPUs. The zero value is the default plan.
type Plan struct {
	kind string
	node int
	cpus map[string][]int // explicit: by role
	text string
}

// Parse reads a value of --pin: "" (the default), or one of Help. In an explicit plan a role may have several CPUs
// (client=0,2-3,server=1), "subscriber" means all subscribers, and "subscriber-2" one of them.
func Parse(s string) (Plan, error) {
	p := Plan{kind: s, text: s}
	switch {
	case s == kindDefault, s == kindNone, s == kindSpread, s == kindSameCore, s == kindSiblings:
		return p, nil
	case strings.HasPrefix(s, "node:"):
		n, err := strconv.ParseUint(s[len("node:"):], 10, 31)
		if err != nil {
			return Plan{}, fmt.Errorf("--pin %s: %q is not a NUMA node", s, s[len("node:"):])
		}
		p.kind, p.node = kindNode, int(n)
		return p, nil
	case strings.Contains(s, "="):
		p.kind = kindExplicit
		return p, p.parseExplicit(s)
	}
	return Plan{}, fmt.Errorf("--pin %s: unknown plan (want %s)", s, Help)
}

func (p *Plan) parseExplicit(s string) error {
	p.cpus = map[string][]int{}
	role := ""
	for part := range strings.SplitSeq(s, ",") {
		list := part
		// A part without a role goes on with the list of the role before it.
		if name, l, ok := strings.Cut(part, "="); ok {
			role, list = strings.TrimSpace(name), l
			if !slices.Contains(roleNames, base(role)) {
				return fmt.Errorf("--pin %s: unknown role %q (want %s)", s, role, strings.Join(roleNames, ", "))
			}
			if _, twice := p.cpus[role]; twice {
				return fmt.Errorf("--pin %s: role %q stands twice", s, role)
			}
		}
		if role == "" {
			return fmt.Errorf("--pin %s: %q names no role (want %s)", s, part, Help)
		}
		cpus, err := ParseList(list)
		if err != nil {
			return fmt.Errorf("--pin %s: %w", s, err)
		}
		if len(cpus) == 0 {
			return fmt.Errorf("--pin %s: no CPU for role %q", s, role)
		}
		p.cpus[role] = append(p.cpus[role], cpus...)
	}
	for role, cpus := range p.cpus {
		slices.Sort(cpus)
		p.cpus[role] = slices.Compact(cpus)
	}
	return nil
}

// String is the plan as --pin takes it; empty for the default.
func (p Plan) String() string { return p.text }

// Check tells, before anything runs, whether the plan can be carried out on a machine. The error is one line that names
// the flag, what is wrong and what there is.
func (p Plan) Check(t Topology) error {
	if p.kind == kindDefault || p.kind == kindNone {
		return nil
	}
	if !t.CanPin {
		return fmt.Errorf("--pin %s: this system offers no way to pin processes (leave --pin out, or use --pin none)", p)
	}
	switch p.kind {
	case kindSiblings:
		if len(t.smtCore()) < 2 {
			return fmt.Errorf("--pin %s: no core here has two allowed threads (allowed: %s)", p, FormatList(t.Allowed))
		}
	case kindNode:
		if len(t.onNode(p.node)) == 0 {
			return fmt.Errorf("--pin %s: no allowed CPU is on NUMA node %d (%s)", p, p.node, t.nodeList())
		}
	case kindExplicit:
		for _, role := range slices.Sorted(maps.Keys(p.cpus)) {
			for _, c := range p.cpus[role] {
				if !slices.Contains(t.Allowed, c) {
					return fmt.Errorf("--pin %s=%s: CPU %d is not allowed here (allowed: %s)",
						role, FormatList(p.cpus[role]), c, FormatList(t.Allowed))
				}
			}
		}
	}
	return nil
}

// nodeList tells which NUMA nodes there are, for an error.
func (t Topology) nodeList() string {
	on := map[int][]int{}
	for _, c := range t.allowed() {
		if c.Node != Unknown {
			on[c.Node] = append(on[c.Node], c.ID)
		}
	}
	if len(on) == 0 {
		return "this system tells of none"
	}
	var parts []string
	for _, n := range slices.Sorted(maps.Keys(on)) {
		parts = append(parts, fmt.Sprintf("node %d: %s", n, FormatList(on[n])))
	}
	return strings.Join(parts, "; ")
}

// base is a role without the number that tells several of one kind apart: "subscriber" for "subscriber-2".
func base(role string) string {
	return strings.TrimRight(strings.TrimRight(role, "0123456789"), "-#.")
}
