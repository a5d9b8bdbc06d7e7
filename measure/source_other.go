//go:build !linux

package measure

// StableClock is nil: the clocks of these systems are the same for all processes.
func StableClock() error { return nil }

// TimeNamespace is 0: there are none here.
func TimeNamespace() uint64 { return 0 }
