//go:build !linux

package measure

import (
	"errors"
	"fmt"
	"time"
)

// sleepUntil sleeps until about t (ns of Now).
func sleepUntil(t int64) { time.Sleep(time.Duration(t - Now())) }

// PreciseTimers does nothing: only Linux has a timer slack for each thread.
func PreciseTimers() error { return nil }

// TimerSlack is an error that wraps errors.ErrUnsupported: only Linux has a timer slack for each thread.
func TimerSlack() (int64, error) { return 0, fmt.Errorf("timer slack: %w", errors.ErrUnsupported) }
