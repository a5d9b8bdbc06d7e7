package machine

import (
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"msgbench/pinning"
)

// describeFiles fills in what Linux tells in /proc, /sys and /etc.
func describeFiles(e *Environment, r reader, t pinning.Topology, getenv func(string) string) {
	release := r.text("etc/os-release")
	if release == "" {
		release = r.text("usr/lib/os-release")
	}
	e.Distribution = field(release, "PRETTY_NAME", "=")
	e.Kernel = r.text("proc/sys/kernel/osrelease")
	e.KernelBuild = r.text("proc/sys/kernel/version")
	e.BootOptions = bootOptions(r.text("proc/cmdline"))
	e.Mitigations = mitigations(r)
	e.HugePages = chosen(r.text("sys/kernel/mm/transparent_hugepage/enabled"))
	e.ShmemPages = chosen(r.text("sys/kernel/mm/transparent_hugepage/shmem_enabled"))
	info := r.text("proc/meminfo")
	if n, err := strconv.ParseInt(field(info, "HugePages_Total", ":"), 10, 64); err == nil && n > 0 && n < 1<<30 {
		e.ReservedHuge = n * kibibytes(field(info, "Hugepagesize", ":"))
	}
	if mtu, ok := r.number("sys/class/net/lo/mtu"); ok {
		e.LoopbackMTU = int(mtu)
	}
	e.Power = power(r)
	e.PowerProfile = r.text("sys/firmware/acpi/platform_profile")
	e.Hypervisor = hypervisor(r)
	e.Container = container(r, getenv)
	e.CPUQuota = cpuQuota(r)
	e.Memory = memory(r)
	e.Load = load(r.text("proc/loadavg"))

	const clock = "sys/devices/system/clocksource/clocksource0/"
	e.Clock.Source = r.text(clock + "current_clocksource")
	e.Clock.Available = strings.Fields(r.text(clock + "available_clocksource"))
	describeCPU(&e.CPU, r, t)
}

// bootOptions keeps the kernel's options that change latencies. The others are nobody's business.
func bootOptions(cmdline string) []string {
	matter := []string{
		"isolcpus", "nohz_full", "rcu_nocbs", "irqaffinity", "mitigations", "nosmt", "idle", "processor.max_cstate",
		"intel_idle.max_cstate", "intel_pstate", "amd_pstate", "cpufreq.default_governor", "tsc", "clocksource", "nohz",
		"preempt", "threadirqs", "transparent_hugepage", "hugepages", "maxcpus", "nr_cpus", "nosoftlockup", "skew_tick",
	}
	var kept []string
	for option := range strings.FieldsSeq(cmdline) {
		if option == "--" {
			break // what follows is for init
		}
		name, _, _ := strings.Cut(option, "=")
		if slices.Contains(matter, name) {
			kept = append(kept, option)
		}
	}
	return kept
}

func mitigations(r reader) []string {
	var on []string
	files, _ := fs.Glob(r.root, "sys/devices/system/cpu/vulnerabilities/*")
	for _, f := range files {
		if strings.HasPrefix(r.text(f), "Mitigation") {
			on = append(on, f[strings.LastIndex(f, "/")+1:])
		}
	}
	return on
}

// power is where the machine's current comes from. Only a battery of the whole machine counts, not that of a mouse.
func power(r reader) string {
	supplies, _ := fs.Glob(r.root, "sys/class/power_supply/*")
	battery, discharging := false, false
	for _, s := range supplies {
		switch r.text(s + "/type") {
		case "Mains", "USB":
			if r.text(s+"/online") == "1" {
				return "mains"
			}
		case "Battery":
			if r.text(s+"/scope") != "Device" {
				battery = true
				discharging = discharging || r.text(s+"/status") == "Discharging"
			}
		}
	}
	switch {
	case discharging:
		return "battery"
	case battery:
		return "mains"
	}
	return ""
}

func load(text string) []float64 {
	fields := strings.Fields(text)
	if len(fields) < 3 {
		return nil
	}
	var out []float64
	for _, f := range fields[:3] {
		x, err := strconv.ParseFloat(f, 64)
		if err != nil || x < 0 || x > 1e9 {
			return nil
		}
		out = append(out, x)
	}
	return out
}

// session is the kind of session and its desktop: a compositor on the same cores disturbs latencies.
func session(getenv func(string) string) (kind, desktop string) {
	desktop = getenv("XDG_CURRENT_DESKTOP")
	switch {
	case getenv("SSH_CONNECTION") != "" || getenv("SSH_TTY") != "":
		return "ssh", desktop
	case getenv("XDG_SESSION_TYPE") != "":
		return getenv("XDG_SESSION_TYPE"), desktop
	case getenv("WAYLAND_DISPLAY") != "":
		return "wayland", desktop
	case getenv("DISPLAY") != "":
		return "x11", desktop
	case getenv("TERM") == "linux":
		return "tty", desktop
	}
	return "", desktop
}
