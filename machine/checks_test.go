package machine

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// good is what Probe finds on a machine without faults.
func good() Probes {
	free := int64(8 << 30)
	return Probes{
		SleepP50Ns: 4_000, SleepMaxNs: 40_000, TempDir: "/tmp", TempFS: "tmpfs", TempFree: free, ShmFree: &free, OpenFiles: 65536,
		Features: map[string]string{"fifo": "", "memfd": "", "seqpacket": ""}, SlackNs: 50_000,
		Cores: &CoreMap{CPUs: []int{0, 1}, Of: 2, Ns: [][]float64{{0, 90}, {90, 0}}},
	}
}

// judged is "name status" of the checks that are not ok, joined by ", ".
func judged(checks []Check) string {
	var out []string
	for _, c := range checks {
		if c.Status != OK {
			out = append(out, c.Name+" "+c.Status)
		}
	}
	return strings.Join(out, ", ")
}

func share(x float64) *float64 { return &x }

func TestChecksOfMachines(t *testing.T) {
	for _, c := range []struct {
		machine     string
		roles       int
		busy, steal *float64
		want        string
	}{
		{"server", 3, share(0.01), share(0), "power profile unknown, free cores unknown"},
		{"laptop", 3, share(0.02), share(0), "isolated cores warn, SMT warn, governor warn, power profile bad, turbo warn, idle states warn, " +
			"free cores unknown, session warn, kernel mitigations warn"},
		{"container", 3, share(0.3), share(0.02), "cores warn, isolated cores warn, SMT warn, governor unknown, power profile unknown, " +
			"turbo unknown, idle states unknown, steal warn, load bad, free cores unknown, free memory warn, cgroup quota bad, virtualization warn, " +
			"session unknown, transparent huge pages warn, loopback MTU warn"},
		{"docker-v1", 2, nil, nil, "isolated cores warn, governor unknown, power profile unknown, turbo unknown, idle states unknown, " +
			"steal unknown, load unknown, free cores unknown, free memory unknown, cgroup quota bad, virtualization warn, session unknown, " +
			"transparent huge pages unknown, huge pages unknown, loopback MTU unknown"},
		{"empty", 2, nil, nil, "cores bad, isolated cores warn, SMT unknown, governor unknown, power profile unknown, turbo unknown, " +
			"idle states unknown, steal unknown, load unknown, free cores unknown, free memory unknown, virtualization unknown, session unknown, " +
			"transparent huge pages unknown, huge pages unknown, loopback MTU unknown"},
	} {
		e := describe(t, c.machine)
		e.Busy, e.Steal = c.busy, c.steal
		checks := Checks(e, good(), c.roles)
		if got := judged(checks); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.machine, got, c.want)
		}
		checkForm(t, checks)
	}
}

// checkForm holds for any check: complete, of one line, and a fix where there is something to fix.
func checkForm(t *testing.T, checks []Check) {
	t.Helper()
	var names []string
	for _, c := range checks {
		if c.Name == "" || c.Found == "" || c.Effect == "" || !slices.Contains([]string{OK, Warn, Bad, Unknown}, c.Status) {
			t.Errorf("incomplete: %+v", c)
		}
		if (c.Status == Warn || c.Status == Bad) && c.Fix == "" || c.Status == OK && c.Fix != "" {
			t.Errorf("fix does not go with the status: %+v", c)
		}
		if strings.Contains(c.Found+c.Effect+c.Fix, "\n") {
			t.Errorf("several lines: %+v", c)
		}
		if slices.Contains(names, c.Name) {
			t.Errorf("%s stands twice", c.Name)
		}
		names = append(names, c.Name)
	}
	if _, err := json.Marshal(checks); err != nil {
		t.Error(err)
	}
}

func TestChecksOfProbes(t *testing.T) {
	small := int64(1 << 20)
	long := "/home/someone/" + strings.Repeat("deep/", 12)
	for _, c := range []struct {
		change func(*Environment, *Probes)
		want   string
	}{
		{func(*Environment, *Probes) {}, ""},
		{func(_ *Environment, p *Probes) { p.SleepP50Ns = 70_000 }, "sleep precision warn"},
		{func(_ *Environment, p *Probes) { p.SleepP50Ns = 1_200_000 }, "sleep precision bad"},
		{func(_ *Environment, p *Probes) { p.SleepMaxNs = 9_000_000 }, "sleep precision warn"},
		{func(_ *Environment, p *Probes) { p.SleepP50Ns = 0 }, "sleep precision unknown"},
		{func(_ *Environment, p *Probes) { p.TempError = "open /tmp: read-only file system" }, "temporary folder bad"},
		{func(_ *Environment, p *Probes) { p.TempDir = long }, "temporary folder bad"},
		{func(_ *Environment, p *Probes) { p.TempFS = "nfs" }, "temporary folder warn"},
		{func(_ *Environment, p *Probes) { p.TempFree = small }, "temporary folder warn"},
		{func(_ *Environment, p *Probes) { p.ShmFree = &small }, "/dev/shm warn"},
		{func(_ *Environment, p *Probes) { p.ShmFree = nil }, "/dev/shm warn"},
		{func(_ *Environment, p *Probes) { p.OpenFiles = 100 }, "open files bad"},
		{func(_ *Environment, p *Probes) { p.OpenFiles = 512 }, "open files warn"},
		{func(_ *Environment, p *Probes) { p.OpenFiles = 0 }, "open files unknown"},
		{func(_ *Environment, p *Probes) { p.Features["memfd"] = "operation not permitted" }, "kernel features bad"},
		{func(_ *Environment, p *Probes) { p.Features = nil }, "kernel features unknown"},
		{func(e *Environment, _ *Probes) { e.Clock.Source = "hpet" }, "clock warn"},
		{func(e *Environment, _ *Probes) { e.Clock.CostNs = 1500 }, "clock bad"},
		{func(e *Environment, _ *Probes) { e.Clock.ResolutionNs = 1000 }, "clock warn"},
		{func(e *Environment, _ *Probes) { e.Steal = share(0.2) }, "steal bad"},
		{func(e *Environment, _ *Probes) { e.Busy = share(0.1) }, "load warn"},
		{func(e *Environment, _ *Probes) { e.Busy, e.Load = nil, []float64{9.5, 1, 1} }, "load bad"},
		{func(e *Environment, _ *Probes) { e.Load = []float64{9.5, 1, 1} }, ""}, // it has passed: nothing runs now
		{func(e *Environment, _ *Probes) { e.Free = nil }, "free cores unknown"},
		{func(e *Environment, _ *Probes) { *e.Free = "0,5" }, "free cores warn"},
		{func(e *Environment, _ *Probes) { *e.Free = "none" }, "free cores bad"},
		{func(e *Environment, _ *Probes) { e.ShmemPages = "always" }, "huge pages warn"},
		{func(e *Environment, _ *Probes) { e.ShmemPages = "advise" }, ""},
		{func(e *Environment, _ *Probes) { e.ReservedHuge = e.Memory.Total/2 + 1 }, "huge pages warn"},
		{func(_ *Environment, p *Probes) { p.SlackError = "operation not permitted" }, "timer slack warn"},
		{func(_ *Environment, p *Probes) { p.SlackNs = 0 }, "timer slack unknown"},
		{func(_ *Environment, p *Probes) { p.Cores = nil }, "core to core unknown"},
		{func(_ *Environment, p *Probes) { p.Cores = &CoreMap{CPUs: []int{4}, Ns: [][]float64{{0}}} }, "core to core unknown"},
		{func(_ *Environment, p *Probes) {
			p.Cores = &CoreMap{CPUs: []int{0, 1, 2}, Of: 3, Ns: [][]float64{{0, 60, 300}, {60, 0, 0}, {300, 0, 0}}}
		}, "core to core warn"},
		{func(e *Environment, _ *Probes) { e.CPUQuota = 3.5 }, "cgroup quota warn"},
		{func(e *Environment, _ *Probes) { e.CPUQuota = 16 }, ""},
		{func(e *Environment, _ *Probes) { e.Memory.Limit = 100 << 20 }, "free memory bad"},
		{func(e *Environment, _ *Probes) { e.CPU.CanPin = false }, "affinity warn"},
		{func(e *Environment, _ *Probes) { e.CPU.Governor = "performance, schedutil" }, "governor warn"},
	} {
		e, p := describe(t, "server"), good()
		all := "0-7"
		e.Busy, e.Steal, e.Free, e.PowerProfile = share(0), share(0), &all, "performance"
		c.change(&e, &p)
		checks := Checks(e, p, 3)
		if got := judged(checks); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
		checkForm(t, checks)
	}
}

func TestChecksElsewhere(t *testing.T) {
	for _, os := range []string{"darwin", "windows"} {
		checks := Checks(Environment{OS: os, Arch: "arm64"}, Probes{TempDir: "/tmp"}, 3)
		checkForm(t, checks)
		if got := Worst(checks); got != Warn { // affinity
			t.Errorf("%s: %s (%s)", os, got, judged(checks))
		}
	}
}

func TestWorst(t *testing.T) {
	for _, c := range []struct{ statuses, want, grade string }{
		{"", OK, GradeA}, {OK, OK, GradeA}, {Unknown, OK, GradeA}, {"ok warn unknown", Warn, GradeB}, {"warn bad ok", Bad, GradeC},
		{"bad warn", Bad, GradeC}, {"bad bad", Bad, GradeD},
	} {
		var checks []Check
		for s := range strings.FieldsSeq(c.statuses) {
			checks = append(checks, Check{Status: s})
		}
		if got := Worst(checks); got != c.want {
			t.Errorf("%q: %s, want %s", c.statuses, got, c.want)
		}
		if got := Grade(checks); got != c.grade {
			t.Errorf("%q: grade %s, want %s", c.statuses, got, c.grade)
		}
	}
}
