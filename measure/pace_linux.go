package measure

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// sleepUntil sleeps until about t (ns of Now). It may return early: a signal ends it, and the Go runtime sends those.
func sleepUntil(t int64) {
	ts := unix.NsecToTimespec(t)
	// Absolute, so that no time is lost between reading the clock and falling asleep. The one error to expect is EINTR,
	// and the caller looks at the clock anyway.
	_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &ts, nil)
}

// PreciseTimers sets the timer slack of the calling thread to 1 ns (50 µs is usual). Lock the goroutine to its thread
// before.
func PreciseTimers() error {
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set timer slack to 1 ns: %w", err)
	}
	return nil
}

// TimerSlack is the timer slack of the calling thread in ns.
func TimerSlack() (int64, error) {
	n, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	if err != nil {
		return 0, fmt.Errorf("get timer slack: %w", err)
	}
	return int64(n), nil
}
