package pinning

import (
	"reflect"
	"slices"
	"testing"
	"testing/fstest"
)

func TestReadTopology(t *testing.T) {
	vm := fixture(t, "vm")
	want := []CPU{
		{ID: 0, Package: Unknown, Die: Unknown, Cluster: Unknown, Node: Unknown},
		{ID: 1, Package: Unknown, Die: Unknown, Cluster: Unknown, Node: Unknown},
	}
	if !reflect.DeepEqual(vm.CPUs, want) {
		t.Errorf("vm: %+v", vm.CPUs)
	}
	laptop := fixture(t, "laptop")
	if c, _ := laptop.CPU(3); !reflect.DeepEqual(c, CPU{ID: 3, Siblings: []int{2, 3}, Package: 0, Die: Unknown, Cluster: Unknown}) {
		t.Errorf("laptop, CPU 3: %+v", c)
	}
	if c, _ := laptop.CPU(13); !c.Efficient || c.Cluster != 24 {
		t.Errorf("laptop, CPU 13: %+v", c)
	}
	server := fixture(t, "server")
	if c, _ := server.CPU(13); !c.Isolated || !c.NohzFull || c.Node != 1 || c.Package != 1 {
		t.Errorf("server, CPU 13: %+v", c)
	}
	if c, ok := server.CPU(99); ok {
		t.Errorf("server, CPU 99: %+v", c)
	}
	for name, cores := range map[string]int{"vm": 2, "vm-cores": 2, "cloud-smt": 1, "laptop": 14, "server": 4, "container": 3, "arm": 6,
		"cpuset": 3, "thin-laptop": 10, "epyc": 16} {
		if got := fixture(t, name).Cores(); got != cores {
			t.Errorf("%s: %d cores, want %d", name, got, cores)
		}
	}
	// Without any sysfs the mask is all there is.
	if bare := ReadTopology(fstest.MapFS{}, []int{2, 5}); len(bare.CPUs) != 2 || bare.Cores() != 2 {
		t.Errorf("bare: %+v", bare)
	}
}

func TestIsolated(t *testing.T) {
	all := func(cpus []int) []int { return cpus }
	server := fixture(t, "server")
	if got := withIsolated(server, all); FormatList(got) != "0-15" {
		t.Errorf("all can be had: %v", got)
	}
	if got := withIsolated(server, func([]int) []int { return nil }); FormatList(got) != "0-3,8-11" {
		t.Errorf("none can be had: %v", got)
	}
	// A mask that someone chose is obeyed.
	server.Allowed = []int{0, 1}
	if got := withIsolated(server, all); !slices.Equal(got, []int{0, 1}) {
		t.Errorf("taskset -c 0,1: %v", got)
	}
	if got := withIsolated(fixture(t, "vm"), all); !slices.Equal(got, []int{0, 1}) {
		t.Errorf("nothing isolated: %v", got)
	}
}

func TestRelation(t *testing.T) {
	for _, c := range []struct {
		machine string
		a, b    []int
		want    string
	}{
		{"laptop", []int{0}, []int{0}, Same},
		{"laptop", []int{0}, []int{1}, SMT},
		{"laptop", []int{0}, []int{2}, Core},
		{"laptop", []int{0}, []int{12}, Core},
		{"laptop", []int{0, 1}, []int{2, 3}, Core},
		{"laptop", []int{0}, []int{1, 2}, UnknownRelation},
		{"laptop", nil, []int{1}, UnknownRelation},
		{"laptop", []int{0}, []int{99}, UnknownRelation},
		{"server", []int{0}, []int{1}, Socket},
		{"server", []int{0}, []int{8}, SMT},
		{"server", []int{0, 8}, []int{1, 9}, Socket},
		{"cloud-smt", []int{0}, []int{1}, SMT},
		{"vm", []int{0}, []int{1}, UnknownRelation},
		{"vm", []int{1}, []int{1}, Same},
		{"vm-cores", []int{0}, []int{1}, Core},
	} {
		topology := fixture(t, c.machine)
		if got := Relation(topology, c.a, c.b); got != c.want {
			t.Errorf("%s, %v and %v: %s, want %s", c.machine, c.a, c.b, got, c.want)
		}
		if got := Relation(topology, c.b, c.a); got != c.want {
			t.Errorf("%s, %v and %v: %s, want %s", c.machine, c.b, c.a, got, c.want)
		}
	}
}
