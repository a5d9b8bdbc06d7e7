// Package machine describes the machine that results come from, and tells what on it will spoil them. It only reads.
package machine

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"time"

	"msgbench/measure"
	"msgbench/pinning"
)

// Environment is what may explain a result. Everything is optional: empty or zero means not known. Nothing in it names
// the machine or its user.
type Environment struct {
	OS           string   `json:"os"`
	Arch         string   `json:"arch"`
	Distribution string   `json:"distribution,omitempty"`
	Kernel       string   `json:"kernel,omitempty"`
	KernelBuild  string   `json:"kernel_build,omitempty"`        // tells the kind of preemption
	BootOptions  []string `json:"boot_options,omitempty"`        // those that matter here
	Mitigations  []string `json:"mitigations,omitempty"`         // of CPU faults, by name, that are on
	HugePages    string   `json:"huge_pages,omitempty"`          // transparent ones: always, madvise or never
	ShmemPages   string   `json:"shmem_huge_pages,omitempty"`    // likewise, of shared memory
	ReservedHuge int64    `json:"reserved_huge_bytes,omitempty"` // set aside for huge pages, in use or not
	LoopbackMTU  int      `json:"loopback_mtu,omitempty"`        // bytes
	Hypervisor   string   `json:"hypervisor,omitempty"`          // "none" where there surely is none
	Container    string   `json:"container,omitempty"`           // docker, podman, kubernetes, …
	CPUQuota     float64  `json:"cpu_quota,omitempty"`           // CPUs' worth of time that a cgroup grants; 0: no limit
	Session      string   `json:"session,omitempty"`             // tty, wayland, x11, ssh, …
	Desktop      string   `json:"desktop,omitempty"`             // GNOME, KDE, …
	CI           bool     `json:"ci,omitempty"`                  // a CI service runs this
	Power        string   `json:"power,omitempty"`               // mains or battery
	PowerProfile string   `json:"power_profile,omitempty"`       // of the firmware: performance, balanced, …

	CPU    CPU    `json:"cpu"`
	Clock  Clock  `json:"clock"`
	Memory Memory `json:"memory"`

	Load  []float64 `json:"load,omitempty"`        // mean runnable tasks of 1, 5 and 15 minutes
	Busy  *float64  `json:"busy_share,omitempty"`  // share (0 to 1) of the allowed CPUs' time that was in use
	Steal *float64  `json:"steal_share,omitempty"` // share that the hypervisor gave to others
	Free  *string   `json:"free_cpus,omitempty"`   // list of the allowed CPUs that were in use or stolen for less than 5 % of the time

	Go        string            `json:"go"`
	GoEnv     map[string]string `json:"go_env,omitempty"` // variables that steer the runtime, where they are set
	Msgbench  string            `json:"msgbench"`
	Libraries map[string]string `json:"libraries,omitempty"` // versions by module path
}

// CPU is the processors and how they are run.
type CPU struct {
	Model            string `json:"model,omitempty"`
	Sockets          int    `json:"sockets,omitempty"`
	Cores            int    `json:"cores,omitempty"`   // physical; 0 where the system does not tell siblings
	Threads          int    `json:"threads,omitempty"` // online
	Nodes            int    `json:"numa_nodes,omitempty"`
	Topology         string `json:"topology,omitempty"` // in words
	Allowed          string `json:"allowed,omitempty"`  // a list: 0-3,7
	AllowedCores     int    `json:"allowed_cores,omitempty"`
	AllowedThreads   int    `json:"allowed_threads,omitempty"`
	CanPin           bool   `json:"can_pin"`
	Isolated         string `json:"isolated,omitempty"`
	NohzFull         string `json:"nohz_full,omitempty"`
	SMT              string `json:"smt,omitempty"` // on, off, or none
	FrequencyDriver  string `json:"frequency_driver,omitempty"`
	Governor         string `json:"governor,omitempty"` // of the allowed CPUs; several: joined by ", "
	EnergyPreference string `json:"energy_preference,omitempty"`
	Turbo            string `json:"turbo,omitempty"` // on or off
	MaxMHz           int    `json:"max_mhz,omitempty"`
	IdleDriver       string `json:"idle_driver,omitempty"`
	DeepestIdle      string `json:"deepest_idle,omitempty"` // name of the deepest idle state that is enabled
	DeepestIdleNs    int64  `json:"deepest_idle_ns,omitempty"`
}

// Clock is the clock that results are measured with.
type Clock struct {
	Source       string   `json:"source,omitempty"`
	Available    []string `json:"available,omitempty"`
	ResolutionNs int64    `json:"resolution_ns"` // smallest step seen
	CostNs       int64    `json:"cost_ns"`       // of one reading
}

// Memory is in bytes.
type Memory struct {
	Total     int64  `json:"total_bytes,omitempty"`
	Available int64  `json:"available_bytes,omitempty"`
	Limit     int64  `json:"limit_bytes,omitempty"` // by a cgroup; 0: none
	Type      string `json:"type,omitempty"`        // "DDR5 5600 MT/s"; mostly for root only
}

// Options is how to look.
type Options struct {
	StealOver time.Duration       // how long to watch for steal and other load; 0: not at all
	Root      fs.FS               // the file system to read; nil: that of this machine
	Topology  *pinning.Topology   // nil: that of this machine
	Getenv    func(string) string // nil: os.Getenv
}

// Describe describes this machine. It takes StealOver and a few ms; ctx cuts that short.
func Describe(ctx context.Context, o Options) Environment {
	native := o.Root == nil
	if native {
		o.Root = os.DirFS("/")
	}
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.Topology == nil {
		t, err := pinning.System()
		if err != nil {
			t = pinning.Topology{}
		}
		o.Topology = &t
	}
	e := Environment{
		OS:        runtime.GOOS,
		Arch:      runtime.GOARCH,
		CI:        o.Getenv("CI") != "",
		Go:        runtime.Version(),
		GoEnv:     goEnv(o.Getenv),
		Msgbench:  Version(),
		Libraries: libraries(),
	}
	e.Session, e.Desktop = session(o.Getenv)
	describeTopology(&e.CPU, *o.Topology)
	r := reader{o.Root}
	if native {
		describeNative(&e)
	}
	if !native || runtime.GOOS == "linux" {
		describeFiles(&e, r, *o.Topology, o.Getenv)
	}
	e.Clock.ResolutionNs, e.Clock.CostNs = measure.Resolution(50_000)
	if o.StealOver > 0 {
		e.Busy, e.Steal, e.Free = watch(ctx, r, o.Topology.Allowed, o.StealOver)
	}
	return e
}

// Name is the machine in a line: its processor, cores, what it runs on and its system.
func (e Environment) Name() string {
	var parts []string
	if e.CPU.Model != "" {
		parts = append(parts, e.CPU.Model)
	}
	switch {
	case e.CPU.Cores == 0 && e.CPU.Threads > 0:
		parts = append(parts, count(e.CPU.Threads, "thread"))
	case e.CPU.Cores == 0:
	case e.CPU.Threads != e.CPU.Cores:
		parts = append(parts, fmt.Sprintf("%s, %d threads", count(e.CPU.Cores, "core"), e.CPU.Threads))
	default:
		parts = append(parts, count(e.CPU.Cores, "core"))
	}
	if e.Hypervisor != "" && e.Hypervisor != "none" {
		parts = append(parts, e.Hypervisor)
	}
	if e.Distribution != "" {
		parts = append(parts, e.Distribution)
	}
	if len(parts) == 0 {
		parts = append(parts, e.OS+"/"+e.Arch)
	}
	return strings.Join(parts, ", ")
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
