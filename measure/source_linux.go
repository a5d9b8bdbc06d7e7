package measure

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
)

const clockSourceFile = "/sys/devices/system/clocksource/clocksource0/current_clocksource"

// stableSources are the clock sources that tick evenly, are the same on every CPU, and are read without leaving the
// process or its virtual machine.
var stableSources = []string{
	"tsc", "tsc-early", "kvm-clock", "hyperv_clocksource_tsc_page", "xen", // x86
	"arch_sys_counter", "riscv_clocksource", "timebase", "tod", "stick", // Arm, RISC-V, POWER, s390, SPARC
}

// StableClock says why readings of Now by two processes can't be subtracted: the clock source that the kernel fell back to.
// Where the kernel does not tell (containers often hide it) the answer is nil.
func StableClock() error {
	data, err := os.ReadFile(clockSourceFile)
	if err != nil {
		return nil
	}
	return stableSource(strings.TrimSpace(string(data)))
}

func stableSource(name string) error {
	if name == "" || slices.Contains(stableSources, name) {
		return nil
	}
	return fmt.Errorf("the clock source is %q, which is not a stable one (%s): see `msgbench doctor`", name, strings.Join(stableSources[:3], ", "))
}

// TimeNamespace is the inode of this process's time namespace; 0 where the kernel has none. Between two of them Now may
// differ by any amount.
func TimeNamespace() uint64 {
	var st syscall.Stat_t
	if err := syscall.Stat("/proc/self/ns/time", &st); err != nil {
		return 0
	}
	return st.Ino
}
