package machine

import (
	"fmt"
	"slices"
	"strings"
)

// How a check ended.
const (
	OK      = "ok"
	Warn    = "warn"    // results are usable, with a reservation
	Bad     = "bad"     // results will mislead, or a transport can't run
	Unknown = "unknown" // the system does not tell
)

// Check is one property of the machine that changes results.
type Check struct {
	Name   string `json:"name"`
	Status string `json:"status"` // OK, Warn, Bad or Unknown
	Found  string `json:"found"`
	Effect string `json:"effect"`        // on results, one sentence; also of a good state, so that a reader knows why it is asked
	Fix    string `json:"fix,omitempty"` // a command or an action; empty where there is nothing to do. msgbench runs none of them
}

// Checks judges a machine for cells of so many roles (processes). It is a function of its arguments alone.
func Checks(e Environment, p Probes, roles int) []Check {
	var all []Check
	for _, group := range [][]Check{
		append(coreChecks(e, roles), fixed(coreMapCheck(p.Cores))), frequencyChecks(e), timeChecks(e, p), foreignChecks(e, roles), kernelChecks(e), placeChecks(e, p),
	} {
		all = append(all, group...)
	}
	return all
}

// The grades of a machine.
const (
	GradeA = "A" // nothing found
	GradeB = "B" // warnings only: usable with the reservations that they name
	GradeC = "C" // one thing will mislead
	GradeD = "D" // several things will
)

// Grade is one of GradeA to GradeD. Unknown does not count.
func Grade(checks []Check) string {
	n := map[string]int{}
	for _, c := range checks {
		n[c.Status]++
	}
	switch {
	case n[Bad] > 1:
		return GradeD
	case n[Bad] == 1:
		return GradeC
	case n[Warn] > 0:
		return GradeB
	}
	return GradeA
}

// Worst is the worst status of some checks; Unknown does not count.
func Worst(checks []Check) string {
	worst := OK
	for _, c := range checks {
		if c.Status == Bad || c.Status == Warn && worst == OK {
			worst = c.Status
		}
	}
	return worst
}

// fixed leaves the fix out where all is well.
func fixed(c Check) Check {
	if c.Status == OK {
		c.Fix = ""
	}
	if c.Found == "" {
		c.Found = "not told by this system"
	}
	return c
}

// coreChecks are about where roles run.
func coreChecks(e Environment, roles int) []Check {
	cores := Check{
		Name: "cores", Status: OK,
		Found:  fmt.Sprintf("%s, %s allowed (%s)", count(e.CPU.AllowedCores, "core"), count(e.CPU.AllowedThreads, "CPU"), e.CPU.Allowed),
		Effect: fmt.Sprintf("each of up to %d processes of a cell wants a core of its own; those that share one measure the scheduler too", roles),
		Fix:    fmt.Sprintf("use a machine with %d cores or more, or widen the cpuset or taskset that msgbench runs in", roles),
	}
	switch {
	case e.CPU.AllowedThreads == 0:
		cores.Status, cores.Found = Unknown, ""
	case e.CPU.AllowedThreads == 1:
		cores.Status = Bad
	case e.CPU.AllowedCores < roles:
		cores.Status = Warn
	}
	pin := Check{
		Name: "affinity", Status: OK, Found: "processes can be pinned",
		Effect: "without pinning the scheduler moves processes about, and a figure can change by half between samples",
		Fix:    "run on Linux, outside of a sandbox that forbids sched_setaffinity",
	}
	if !e.CPU.CanPin {
		pin.Status, pin.Found = Warn, "processes can't be pinned on this system"
	}
	isolated := Check{
		Name: "isolated cores", Status: OK, Found: e.CPU.Isolated,
		Effect: "other processes, interrupts and timer ticks may run on the cells' cores, which shows in p99 and above",
		Fix:    "boot with isolcpus=LIST nohz_full=LIST rcu_nocbs=LIST for as many cores as a cell has processes",
	}
	switch {
	case e.OS != "linux":
		isolated.Status = Unknown
	case e.CPU.Isolated == "":
		isolated.Status, isolated.Found = Warn, "none"
	case e.CPU.NohzFull == "":
		isolated.Found += ", but none without timer ticks (nohz_full)"
	}
	smt := Check{
		Name: "SMT", Status: OK, Found: e.CPU.SMT,
		Effect: "two threads of one core share its units and caches; roles get cores of their own, other processes may take the thread beside",
		Fix:    "echo off | sudo tee /sys/devices/system/cpu/smt/control",
	}
	switch {
	case e.CPU.SMT == "":
		smt.Status = Unknown
	case e.CPU.SMT == "on" && e.CPU.Isolated == "":
		smt.Status = Warn
	}
	return []Check{fixed(cores), fixed(pin), fixed(isolated), fixed(smt)}
}

// frequencyChecks are about how fast cores run, and whether they sleep.
func frequencyChecks(e Environment) []Check {
	governor := Check{
		Name: "governor", Status: OK, Found: e.CPU.Governor,
		Effect: "a core that clocks down between messages makes paced cells slower than cells at max rate, and samples differ",
		Fix:    "sudo cpupower frequency-set -g performance",
	}
	switch {
	case e.CPU.Governor == "":
		governor.Status = Unknown
	case e.CPU.Governor != "performance":
		governor.Status = Warn
	}
	profile := Check{
		Name: "power profile", Status: OK,
		Found:  joined(e.Power, e.PowerProfile, e.CPU.EnergyPreference),
		Effect: "a profile that saves energy, or a battery, caps clocks and delays waking up",
		Fix:    "plug the machine in; powerprofilesctl set performance",
	}
	saving := func(s string) bool {
		return slices.ContainsFunc([]string{"power", "quiet", "cool", "low", "balance"}, func(w string) bool { return strings.Contains(s, w) })
	}
	switch {
	case profile.Found == "":
		profile.Status = Unknown
	case e.Power == "battery":
		profile.Status = Bad
	case saving(e.PowerProfile) || saving(e.CPU.EnergyPreference):
		profile.Status = Warn
	}
	turbo := Check{
		Name: "turbo", Status: OK, Found: e.CPU.Turbo,
		Effect: "boost clocks fall as the machine warms up or other cores work, so later samples are slower than the first",
		Fix:    turboFix(e.CPU.FrequencyDriver),
	}
	switch e.CPU.Turbo {
	case "on":
		turbo.Status = Warn
	case "":
		turbo.Status = Unknown
	}
	idle := Check{
		Name: "idle states", Status: OK,
		Effect: "a core in a deep idle state takes that long to wake, which is added to every message that comes after a pause",
		Fix:    "sudo cpupower idle-set -D 10 (undo: sudo cpupower idle-set -E)",
	}
	if e.CPU.DeepestIdle == "" {
		idle.Status = Unknown
	} else {
		idle.Found = fmt.Sprintf("deepest: %s, %s to wake", e.CPU.DeepestIdle, duration(e.CPU.DeepestIdleNs))
		if e.CPU.DeepestIdleNs > 10_000 {
			idle.Status = Warn
		}
	}
	return []Check{fixed(governor), fixed(profile), fixed(turbo), fixed(idle)}
}

func turboFix(driver string) string {
	if strings.HasPrefix(driver, "intel_pstate") || driver == "intel_cpufreq" {
		return "echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo"
	}
	return "echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost"
}

// timeChecks are about the clock and sleeping.
func timeChecks(e Environment, p Probes) []Check {
	clock := Check{
		Name: "clock", Status: OK,
		Found:  fmt.Sprintf("%s; steps of %d ns, %d ns a reading", orUnknown(e.Clock.Source), e.Clock.ResolutionNs, e.Clock.CostNs),
		Effect: "each operation reads the clock at least once; a slow one lowers throughput, a coarse one hides differences",
		Fix:    "boot with clocksource=tsc tsc=reliable where the CPU has an invariant TSC (see available_clocksource)",
	}
	switch {
	case e.Clock.CostNs > 500 || e.Clock.ResolutionNs > 2_000:
		clock.Status = Bad
	case e.Clock.CostNs > 120 || e.Clock.ResolutionNs > 250 || slices.Contains([]string{"hpet", "acpi_pm", "jiffies", "pit"}, e.Clock.Source):
		clock.Status = Warn
	}
	sleep := Check{
		Name: "sleep precision", Status: OK,
		Effect: "the pacer wakes 60 µs before a message is due; what wakes later than that sends late, and such samples are rejected",
		Fix:    "end other load; in a virtual machine ask for dedicated CPUs",
	}
	if p.SleepP50Ns == 0 {
		sleep.Status = Unknown
	} else {
		sleep.Found = fmt.Sprintf("a sleep of 1 ms ends late by %s (median), %s (worst of %d)", duration(p.SleepP50Ns), duration(p.SleepMaxNs), sleeps)
		switch {
		case p.SleepP50Ns > 500_000:
			sleep.Status = Bad
		case p.SleepP50Ns > 60_000 || p.SleepMaxNs > 2_000_000:
			sleep.Status = Warn
		}
	}
	slack := Check{
		Name: "timer slack", Status: OK,
		Effect: "the kernel may end a sleep that much later on purpose, which is added to each message that waits for its time",
		Fix:    "run outside of the sandbox that forbids prctl(PR_SET_TIMERSLACK)",
	}
	switch {
	case p.SlackError != "":
		slack.Status, slack.Found = Warn, "can't be changed: "+p.SlackError
	case p.SlackNs == 0:
		slack.Status = Unknown
	default:
		slack.Found = duration(p.SlackNs) + " here; workers are started with 1 ns"
	}
	return []Check{fixed(clock), fixed(slack), fixed(sleep)}
}

// duration writes ns with a unit and three digits at most.
func duration(ns int64) string {
	switch {
	case ns < 1_000:
		return fmt.Sprintf("%d ns", ns)
	case ns < 1_000_000:
		return fmt.Sprintf("%.3g µs", float64(ns)/1e3)
	}
	return fmt.Sprintf("%.3g ms", float64(ns)/1e6)
}

// size writes bytes with a binary unit.
func size(n int64) string {
	switch {
	case n < 1<<20:
		return fmt.Sprintf("%d KiB", n>>10)
	case n < 10<<30:
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d GiB", n>>30)
}

func joined(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ", ")
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown source"
	}
	return s
}
