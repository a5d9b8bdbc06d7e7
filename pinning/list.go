// Package pinning knows the CPUs of this machine, decides which process runs on which, and starts processes there.
package pinning

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxCPU is the highest CPU number that is believed: beyond what any kernel numbers, small enough to expand a range.
const maxCPU = 65535

// ParseList reads a list as the kernel writes it, "0-3,7", into ascending CPU numbers without repeats. An empty list is nil.
func ParseList(s string) ([]int, error) {
	s = strings.TrimSpace(s)
	if s == "" {
		return nil, nil
	}
	var cpus []int
	for part := range strings.SplitSeq(s, ",") {
		first, last, isRange := strings.Cut(strings.TrimSpace(part), "-")
		lo, err := parseCPU(first)
		if err != nil {
			return nil, err
		}
		hi := lo
		if isRange {
			if hi, err = parseCPU(last); err != nil {
				return nil, err
			}
		}
		if hi < lo {
			return nil, fmt.Errorf("CPU range %q runs backwards", part)
		}
		for c := lo; c <= hi; c++ {
			cpus = append(cpus, c)
		}
	}
	slices.Sort(cpus)
	return slices.Compact(cpus), nil
}

func parseCPU(s string) (int, error) {
	n, err := strconv.ParseUint(s, 10, 32)
	if err != nil || n > maxCPU {
		return 0, fmt.Errorf("%q is not a CPU number (0 to %d)", s, maxCPU)
	}
	return int(n), nil
}

// FormatList writes CPU numbers as the kernel does: "0-3,7"; "none" for no CPU at all.
func FormatList(cpus []int) string {
	if len(cpus) == 0 {
		return "none"
	}
	cpus = slices.Sorted(slices.Values(cpus))
	var b strings.Builder
	for i := 0; i < len(cpus); {
		j := i
		for j+1 < len(cpus) && cpus[j+1] <= cpus[j]+1 {
			j++
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(cpus[i]))
		if cpus[j] > cpus[i] {
			b.WriteString("-" + strconv.Itoa(cpus[j]))
		}
		i = j + 1
	}
	return b.String()
}
