package pinning

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

// fixture reads testdata/name.txt: a line for each file of sysfs, its path and its content, and one for the mask.
func fixture(t *testing.T, name string) Topology {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	root := fstest.MapFS{}
	var mask []int
	for line := range strings.Lines(string(data)) {
		path, content, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch path {
		case "#":
		case "mask":
			if mask, err = ParseList(content); err != nil {
				t.Fatal(err)
			}
		default:
			root[path] = &fstest.MapFile{Data: []byte(content + "\n")}
		}
	}
	return ReadTopology(root, mask)
}

// machineOf is the fixture of that name, with all its CPUs where "+isolated" follows.
func machineOf(t *testing.T, machine string) Topology {
	t.Helper()
	name, isolated := strings.CutSuffix(machine, "+isolated")
	topology := fixture(t, name)
	if isolated {
		topology = withAll(topology)
	}
	return topology
}

// withAll allows all CPUs that are online, as on a machine where the isolated ones can be had.
func withAll(t Topology) Topology {
	t.Allowed = nil
	for _, c := range t.CPUs {
		t.Allowed = append(t.Allowed, c.ID)
	}
	return t
}

const (
	two       = "client server"
	brokered  = "client server broker"
	broadcast = "publisher subscriber-1 subscriber-2 subscriber-3 subscriber-4"
)

func TestPlace(t *testing.T) {
	for _, c := range []struct{ machine, pin, roles, want string }{
		{"vm", "", two, "client=0 server=1"},
		{"vm", "", "server client", "server=1 client=0"},
		{"vm", "", brokered, "client=0 server=0 broker=1"},
		{"vm", "", broadcast, "publisher=0 subscriber-1=1 subscriber-2=0 subscriber-3=1 subscriber-4=0"},
		{"vm", "", "publisher broker subscriber1 subscriber2", "publisher=0 broker=1 subscriber1=0 subscriber2=0"},
		{"vm", "", "client", "client=0"},
		{"vm", "none", two, "client=none server=none"},
		{"vm", "same-core", brokered, "client=0 server=0 broker=0"},
		{"vm", "spread", brokered, "client=0 server=1 broker=0"},
		{"vm", "client=1,server=0", two, "client=1 server=0"},
		{"vm", "client=0,server=0-1", two, "client=0 server=0-1"},
		{"vm", "client=0,server=1", brokered, "client=0 server=1 broker=0"},
		{"vm", "client=0,server=1", "publisher subscriber-1 subscriber-2", "publisher=0 subscriber-1=1 subscriber-2=1"},
		{"vm", "client=1", two, "client=1 server=0"},
		{"vm", "subscriber=0,subscriber-2=1,publisher=1", "publisher subscriber-1 subscriber-2", "publisher=1 subscriber-1=0 subscriber-2=1"},
		{"vm", "siblings", two, "--pin siblings: no core here has two allowed threads (allowed: 0-1)"},
		{"vm", "node:0", two, "--pin node:0: no allowed CPU is on NUMA node 0 (this system tells of none)"},
		{"vm", "client=999", two, "--pin client=999: CPU 999 is not allowed here (allowed: 0-1)"},
		{"vm", "client=0,server=7", two, "--pin server=7: CPU 7 is not allowed here (allowed: 0-1)"},
		{"vm", "client=0,server=1,broker=2", two, "--pin broker=2: CPU 2 is not allowed here (allowed: 0-1)"},
		{"vm-cores", "", brokered, "client=0 server=0 broker=1"},
		{"cloud-smt", "", two, "client=0 server=1"},
		{"cloud-smt", "", brokered, "client=0 server=0 broker=1"},
		{"cloud-smt", "siblings", two, "client=0 server=1"},
		{"cloud-smt", "node:0", two, "client=0 server=1"},
		{"laptop", "", two, "client=0 server=2"},
		{"laptop", "", brokered, "client=0 server=2 broker=4"},
		{"laptop", "", broadcast, "publisher=0 subscriber-1=2 subscriber-2=4 subscriber-3=6 subscriber-4=8"},
		{"laptop", "siblings", brokered, "client=0 server=1 broker=0"},
		{"laptop", "same-core", two, "client=0 server=0"},
		{"laptop", "client=12,server=13", two, "client=12 server=13"},
		{"laptop", "client=0", two, "client=0 server=2"}, // not 1, which is the same core
		{"laptop", "broker=5", brokered, "client=0 server=2 broker=5"},
		{"laptop", "node:1", two, "--pin node:1: no allowed CPU is on NUMA node 1 (node 0: 0-19)"},
		{"server", "", two, "client=0 server=2"}, // one socket
		{"server", "", brokered, "client=0 server=1 broker=2"},
		{"server", "node:1", two, "client=1 server=3"},
		{"server", "node:1", brokered, "client=1 server=9 broker=3"}, // two cores: the ends share one, on its two threads
		{"server", "client=6", two, "--pin client=6: CPU 6 is not allowed here (allowed: 0-3,8-11)"},
		{"server+isolated", "", two, "client=4 server=6"},
		{"server+isolated", "", brokered, "client=4 server=5 broker=6"}, // four isolated cores, two on each socket
		{"server+isolated", "", broadcast, "publisher=0 subscriber-1=1 subscriber-2=2 subscriber-3=3 subscriber-4=4"},
		{"server+isolated", "siblings", two, "client=4 server=12"},
		{"server+isolated", "same-core", two, "client=4 server=4"},
		{"container", "", two, "client=6 server=7"},
		{"container", "", brokered, "client=5 server=6 broker=7"},
		{"container", "client=0", two, "--pin client=0: CPU 0 is not allowed here (allowed: 5-7)"},
		{"cpuset", "", two, "client=2 server=3"},
		{"cpuset", "", brokered, "client=2 server=3 broker=4"},
		{"cpuset", "siblings", two, "client=4 server=12"},
		{"cpuset", "client=10", two, "--pin client=10: CPU 10 is not allowed here (allowed: 2-4,12)"},
		{"thin-laptop", "", two, "client=0 server=2"},
		{"thin-laptop", "spread", two, "client=0 server=2"},
		{"thin-laptop", "", brokered, "client=4 server=5 broker=6"}, // more roles than performance cores: equal ones
		{"thin-laptop", "same-core", two, "client=0 server=0"},
		{"epyc", "", two, "client=12 server=13"},                                                           // without timer ticks
		{"epyc", "", broadcast, "publisher=0 subscriber-1=1 subscriber-2=2 subscriber-3=3 subscriber-4=4"}, // one socket
		{"epyc", "node:1", two, "client=4 server=5"},
		{"epyc", "siblings", two, "client=0 server=16"},
		{"epyc", "client=1,server=6,broker=10", brokered, "client=1 server=6 broker=10"},
		{"arm", "", two, "client=4 server=5"},
		{"arm", "", brokered, "client=0 server=1 broker=2"},
	} {
		t.Run(c.machine+"/"+c.pin+"/"+c.roles, func(t *testing.T) {
			topology := machineOf(t, c.machine)
			plan, err := Parse(c.pin)
			if err != nil {
				t.Fatal(err)
			}
			roles := strings.Fields(c.roles)
			placed, err := plan.Place(topology, roles)
			var got string
			if err != nil {
				got = err.Error()
			} else {
				var parts []string
				for _, r := range roles {
					parts = append(parts, r+"="+FormatList(placed[r]))
				}
				got = strings.Join(parts, " ")
			}
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for in, want := range map[string]string{
		"all":                   `--pin all: unknown plan (want none, spread, same-core, siblings, node:N, or client=0,server=1[,broker=2])`,
		"node:":                 `--pin node:: "" is not a NUMA node`,
		"node:x":                `--pin node:x: "x" is not a NUMA node`,
		"node:-1":               `--pin node:-1: "-1" is not a NUMA node`,
		"cleint=0":              `--pin cleint=0: unknown role "cleint" (want client, server, broker, publisher, subscriber)`,
		"client=":               `--pin client=: no CPU for role "client"`,
		"client=0,":             `--pin client=0,: no CPU for role "client"`,
		"client=a":              `--pin client=a: "a" is not a CPU number (0 to 65535)`,
		"client=-1":             `--pin client=-1: "" is not a CPU number (0 to 65535)`,
		"client=0,client=1":     `--pin client=0,client=1: role "client" stands twice`,
		"0,client=1":            `--pin 0,client=1: "0" names no role (want none, spread, same-core, siblings, node:N, or client=0,server=1[,broker=2])`,
		"client=99999999999999": `--pin client=99999999999999: "99999999999999" is not a CPU number (0 to 65535)`,
	} {
		p, err := Parse(in)
		if err == nil {
			t.Errorf("%q: taken as %v", in, p)
		} else if err.Error() != want {
			t.Errorf("%q:\ngot  %v\nwant %s", in, err, want)
		}
	}
}

// Any plan on any machine either places every role on allowed CPUs or says in one line why not.
func TestPlaceIsSound(t *testing.T) {
	for _, machine := range []string{"vm", "vm-cores", "cloud-smt", "laptop", "server", "container", "arm", "cpuset", "thin-laptop", "epyc"} {
		for _, topology := range []Topology{fixture(t, machine), withAll(fixture(t, machine)), one(fixture(t, machine))} {
			for _, pin := range []string{"", "none", "spread", "same-core", "siblings", "node:0", "node:1", "client=0", "broker=1"} {
				plan, err := Parse(pin)
				if err != nil {
					t.Fatal(err)
				}
				for n := range 40 {
					roles := []string{"client", "broker", "server"}[:min(n, 3)]
					for i := 3; i < n; i++ {
						roles = append(roles, fmt.Sprint("subscriber-", i))
					}
					checkSound(t, plan, topology, roles)
				}
			}
		}
	}
}

func one(t Topology) Topology {
	t.Allowed = t.Allowed[:1]
	return t
}

func checkSound(t *testing.T, plan Plan, topology Topology, roles []string) {
	t.Helper()
	placed, err := plan.Place(topology, roles)
	if err != nil {
		if strings.Contains(err.Error(), "\n") || !strings.HasPrefix(err.Error(), "--pin ") {
			t.Errorf("%v", err)
		}
		return
	}
	if len(placed) != len(roles) {
		t.Errorf("--pin %s: %d of %d roles placed", plan, len(placed), len(roles))
	}
	for _, r := range roles {
		if plan.String() == "none" {
			continue
		}
		if len(placed[r]) == 0 {
			t.Errorf("--pin %s: %s has no CPU", plan, r)
		}
		for _, c := range placed[r] {
			if !strings.Contains(","+expand(topology.Allowed)+",", fmt.Sprintf(",%d,", c)) {
				t.Errorf("--pin %s: %s is on CPU %d, allowed are %v", plan, r, c, topology.Allowed)
			}
		}
	}
	if plan.String() == "" && len(roles) <= topology.Cores() && Shared(placed) != "" {
		t.Errorf("%d roles on %d cores share: %s", len(roles), topology.Cores(), Shared(placed))
	}
}

func expand(cpus []int) string {
	return strings.Trim(strings.Join(strings.Fields(fmt.Sprint(cpus)), ","), "[]")
}

func TestNoAffinity(t *testing.T) {
	topology := fixture(t, "vm")
	topology.CanPin = false
	for _, pin := range []string{"", "none"} {
		plan, _ := Parse(pin)
		placed, err := plan.Place(topology, []string{"client", "server"})
		if err != nil || len(placed) != 2 || len(placed["client"])+len(placed["server"]) != 0 {
			t.Errorf("%q: %v, %v", pin, placed, err)
		}
	}
	plan, _ := Parse("client=0")
	want := "--pin client=0: this system offers no way to pin processes (leave --pin out, or use --pin none)"
	if _, err := plan.Place(topology, []string{"client"}); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestShared(t *testing.T) {
	for _, c := range []struct {
		placed map[string][]int
		want   string
	}{
		{map[string][]int{"client": {0}, "server": {1}}, ""},
		{map[string][]int{"client": nil, "server": nil}, ""},
		{map[string][]int{"server": {0}, "client": {0}, "broker": {1}}, "client, server on CPU 0"},
		{map[string][]int{"client": {0, 1}, "server": {0, 1}}, "client, server on CPU 0; client, server on CPU 1"},
	} {
		if got := Shared(c.placed); got != c.want {
			t.Errorf("%v: %q, want %q", c.placed, got, c.want)
		}
	}
}
