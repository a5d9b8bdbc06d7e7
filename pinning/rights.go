package pinning

import "fmt"

// The priorities that RT takes.
const (
	MinRT = 1
	MaxRT = 99
)

// Scheduling is how the kernel schedules a running process and holds its memory.
type Scheduling struct {
	RT     int   // priority under SCHED_FIFO of all of its threads; 0: not all of them run under it, or not at the same one
	Locked int64 // bytes that are locked into memory
}

// CheckRT tells why processes can't be started under SCHED_FIFO at a priority, in one line with the way out; nil where they
// can. alone says that all CPUs of theirs are isolated, so that nothing else is starved by them.
func CheckRT(priority int, alone bool) error {
	if priority < MinRT || priority > MaxRT {
		return fmt.Errorf("priority %d: want %d to %d", priority, MinRT, MaxRT)
	}
	return checkRT(priority, alone)
}
