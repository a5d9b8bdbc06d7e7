package machine

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"msgbench/pinning"
)

const cpuDir = "sys/devices/system/cpu/"

// describeTopology counts what the topology tells.
func describeTopology(c *CPU, t pinning.Topology) {
	c.Threads = len(t.CPUs)
	c.CanPin = t.CanPin
	c.AllowedThreads = len(t.Allowed)
	c.AllowedCores = t.Cores()
	if len(t.Allowed) > 0 {
		c.Allowed = pinning.FormatList(t.Allowed)
	}
	whole := t
	whole.Allowed = nil
	var isolated, nohz []int
	small, told := 0, false
	packages, nodes := map[int]bool{}, map[int]bool{}
	for _, cpu := range t.CPUs {
		whole.Allowed = append(whole.Allowed, cpu.ID)
		if cpu.Isolated {
			isolated = append(isolated, cpu.ID)
		}
		if cpu.NohzFull {
			nohz = append(nohz, cpu.ID)
		}
		if cpu.Package != pinning.Unknown {
			packages[cpu.Package] = true
		}
		if cpu.Node != pinning.Unknown {
			nodes[cpu.Node] = true
		}
		if cpu.Efficient {
			small++
		}
		told = told || len(cpu.Siblings) > 0
	}
	c.Sockets, c.Nodes = len(packages), len(nodes)
	if told { // else each thread would pass for a core
		c.Cores = whole.Cores()
	}
	if len(isolated) > 0 {
		c.Isolated = pinning.FormatList(isolated)
	}
	if len(nohz) > 0 {
		c.NohzFull = pinning.FormatList(nohz)
	}
	c.Topology = summary(*c, small)
}

// summary is the topology in words: "1 socket, 14 cores, 20 threads (8 efficient), 1 NUMA node".
func summary(c CPU, small int) string {
	if c.Threads == 0 {
		return ""
	}
	var parts []string
	if c.Sockets > 0 {
		parts = append(parts, count(c.Sockets, "socket"))
	}
	threads := count(c.Threads, "thread")
	if small > 0 {
		threads += fmt.Sprintf(" (%d efficient)", small)
	}
	if c.Cores > 0 {
		parts = append(parts, count(c.Cores, "core"))
	}
	parts = append(parts, threads)
	if c.Nodes > 0 {
		parts = append(parts, count(c.Nodes, "NUMA node"))
	}
	return strings.Join(parts, ", ")
}

// describeCPU fills in what Linux tells of the processors and of the policies that run them.
func describeCPU(c *CPU, r reader, t pinning.Topology) {
	info := r.text("proc/cpuinfo")
	for _, key := range []string{"model name", "Model", "Hardware", "cpu model", "uarch"} { // x86, then other architectures
		if c.Model = field(info, key, ":"); c.Model != "" {
			break
		}
	}
	c.SMT = smt(r, t)
	c.Turbo = turbo(r)
	c.Governor = policy(r, t.Allowed, "scaling_governor")
	c.FrequencyDriver = policy(r, t.Allowed, "scaling_driver")
	c.EnergyPreference = policy(r, t.Allowed, "energy_performance_preference")
	for _, id := range t.Allowed {
		if khz, ok := r.number(cpuDir + "cpu" + strconv.Itoa(id) + "/cpufreq/cpuinfo_max_freq"); ok {
			c.MaxMHz = max(c.MaxMHz, int(khz/1000))
		}
	}
	c.IdleDriver = r.text(cpuDir + "cpuidle/current_driver")
	if len(t.Allowed) > 0 {
		c.DeepestIdle, c.DeepestIdleNs = deepestIdle(r, t.Allowed[0])
	}
}

// policy is a setting of the allowed CPUs; where they differ, all values that there are, sorted.
func policy(r reader, allowed []int, name string) string {
	var found []string
	for _, id := range allowed {
		v := r.text(cpuDir + "cpu" + strconv.Itoa(id) + "/cpufreq/" + name)
		if v != "" && !slices.Contains(found, v) {
			found = append(found, v)
		}
	}
	slices.Sort(found)
	return strings.Join(found, ", ")
}

func smt(r reader, t pinning.Topology) string {
	for _, c := range t.CPUs {
		if len(c.Siblings) > 1 {
			return "on"
		}
	}
	switch r.text(cpuDir + "smt/control") {
	case "on":
		// The control says on as well where there is nothing to switch, as in virtual machines.
		if r.text(cpuDir+"smt/active") == "1" {
			return "on"
		}
		return "none"
	case "off", "forceoff":
		return "off"
	case "notsupported", "notimplemented":
		return "none"
	}
	return ""
}

func turbo(r reader) string {
	switch r.text(cpuDir + "intel_pstate/no_turbo") {
	case "0":
		return "on"
	case "1":
		return "off"
	}
	switch r.text(cpuDir + "cpufreq/boost") {
	case "1":
		return "on"
	case "0":
		return "off"
	}
	return ""
}

// deepestIdle is the deepest enabled idle state of a CPU and how long waking from it takes, in ns.
func deepestIdle(r reader, id int) (name string, ns int64) {
	for n := range 16 {
		dir := fmt.Sprintf("%scpu%d/cpuidle/state%d/", cpuDir, id, n)
		state := r.text(dir + "name")
		if state == "" {
			break
		}
		if us, ok := r.number(dir + "latency"); ok && us*1000 >= ns && r.text(dir+"disable") != "1" {
			name, ns = state, us*1000
		}
	}
	return name, ns
}
