package measure

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// ResidentBytes is the memory of a process that is in RAM now, shared pages included.
func ResidentBytes(pid int) (int64, error) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	if err != nil {
		return 0, fmt.Errorf("resident size of process %d: %w", pid, err)
	}
	fields := strings.Fields(string(data)) // total, resident, shared, … in pages
	if len(fields) < 2 {
		return 0, fmt.Errorf("resident size of process %d: unexpected statm %q", pid, data)
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("resident size of process %d: unexpected statm %q", pid, data)
	}
	return pages * int64(os.Getpagesize()), nil
}
