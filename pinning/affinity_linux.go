package pinning

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// System is the topology of this machine.
func System() (Topology, error) {
	mask, err := Affinity(0)
	if err != nil {
		return Topology{}, err
	}
	t := ReadTopology(os.DirFS("/"), mask)
	t.Allowed = withIsolated(t, probe)
	return t, nil
}

// probe is those of the CPUs on which a thread of ours really may run.
func probe(cpus []int) []int {
	got := make(chan []int)
	go func() {
		runtime.LockOSThread() // not unlocked: the thread ends with its odd mask
		if setMask(cpus) != nil {
			got <- nil
			return
		}
		mask, _ := Affinity(0)
		got <- mask
	}()
	return <-got
}

// Affinity is the CPUs on which a thread may run, ascending. A pid is its main thread, 0 the calling thread.
func Affinity(tid int) ([]int, error) {
	for size := 8192; ; size *= 2 {
		set := unix.NewCPUSet(size)
		err := unix.SchedGetaffinityDynamic(tid, set)
		if err == unix.EINVAL && size < maxCPU {
			continue // the kernel knows more CPUs than fit
		}
		if err != nil {
			return nil, fmt.Errorf("affinity of %d: %w", tid, err)
		}
		var cpus []int
		for c := range size {
			if set.IsSet(c) {
				cpus = append(cpus, c)
			}
		}
		return cpus, nil
	}
}

// ReadBack is the CPUs on which any thread of a running process may run, ascending, as the kernel tells.
func ReadBack(pid int) ([]int, error) {
	dir := "/proc/" + strconv.Itoa(pid) + "/task"
	threads, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read placement of process %d back: %w", pid, err)
	}
	var all []int
	for _, e := range threads {
		tid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		cpus, err := Affinity(tid)
		if errors.Is(err, unix.ESRCH) {
			continue // it has ended in between
		}
		if err != nil {
			return nil, fmt.Errorf("read placement of process %d back: %w", pid, err)
		}
		all = append(all, cpus...)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("read placement of process %d back: it has no threads any more", pid)
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// setMask sets the affinity of the calling thread.
func setMask(cpus []int) error {
	set := unix.NewCPUSet(max(8192, slices.Max(cpus)+1))
	for _, c := range cpus {
		set.Set(c)
	}
	if err := unix.SchedSetaffinityDynamic(0, set); err != nil {
		return fmt.Errorf("set affinity to CPU %s: %w", FormatList(cpus), err)
	}
	return nil
}
