package machine

import "golang.org/x/sys/unix"

// describeNative fills in what sysctl tells.
func describeNative(e *Environment) {
	text := func(name string) string {
		s, _ := unix.Sysctl(name)
		return s
	}
	number := func(name string) int {
		n, _ := unix.SysctlUint32(name)
		return int(n)
	}
	if v := text("kern.osproductversion"); v != "" {
		e.Distribution = "macOS " + v
	}
	e.Kernel = text("kern.osrelease")
	e.CPU.Model = text("machdep.cpu.brand_string")
	e.CPU.Sockets = number("hw.packages")
	e.CPU.Cores = number("hw.physicalcpu")
	e.CPU.Threads = number("hw.logicalcpu")
	e.CPU.Topology = summary(e.CPU, 0)
	if n, err := unix.SysctlUint64("hw.memsize"); err == nil {
		e.Memory.Total = int64(n)
	}
	e.Hypervisor = "none"
	if number("kern.hv_vmm_present") == 1 {
		e.Hypervisor = "unknown hypervisor"
	}
	e.Clock.Source = "mach_absolute_time"
}
