package pinning

import (
	"strings"
	"testing"
)

func TestNotes(t *testing.T) {
	for _, c := range []struct {
		machine, pin, roles string
		quota               float64
		want                string
	}{
		{"vm", "", two, 0, ""},
		{"vm", "none", two, 1, ""},
		{"vm", "", two, 1.5, "the cgroup's quota of 1.5 CPUs is less than the 2 that they use: it will stop them"},
		{"vm", "", two, 2, ""},
		{"vm", "", brokered, 0, "shared: client, server on CPU 0"},
		{"vm", "same-core", two, 0, "shared: client, server on CPU 0"},
		{"cloud-smt", "", two, 0, "two threads of one core: 0-1"},
		{"laptop", "", two, 0, ""},
		{"laptop", "client=0,server=12", two, 0, "cores of two kinds: performance 0, efficiency 12; roles on them do not compare"},
		{"thin-laptop", "", brokered, 0, "all on efficiency cores: there are fewer performance cores than roles"},
		{"server+isolated", "", two, 0, "isolated, without timer ticks: 4,6"},
		{"server+isolated", "client=4,server=0", two, 0, "isolated: 4; not isolated: 0"},
		{"server", "client=0,server=1", two, 0, "across sockets 0 to 1"},
		{"epyc", "client=0,server=4", two, 0, "across NUMA nodes 0 to 1"},
		{"epyc", "siblings", two, 0, "two threads of one core: 0,16"},
	} {
		topology := machineOf(t, c.machine)
		plan, err := Parse(c.pin)
		if err != nil {
			t.Fatal(err)
		}
		placed, err := plan.Place(topology, strings.Fields(c.roles))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(Notes(topology, placed, c.quota), "; "); got != c.want {
			t.Errorf("%s, --pin %s, %s: %q, want %q", c.machine, c.pin, c.roles, got, c.want)
		}
	}
}
