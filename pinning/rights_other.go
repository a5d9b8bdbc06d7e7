//go:build !linux

package pinning

import "errors"

var errNotHere = errors.New("only Linux has this here")

func checkRT(int, bool) error { return errNotHere }

// CheckLock is an error: memory is locked on Linux only.
func CheckLock() error { return errNotHere }

// ReadScheduling is an error that wraps errors.ErrUnsupported.
func ReadScheduling(int) (Scheduling, error) { return Scheduling{}, errors.ErrUnsupported }
