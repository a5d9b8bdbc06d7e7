//go:build !linux

package bench

import "errors"

// listens is not known here; areg.Find finds no programs either.
func listens(int, int) (own, taken bool, err error) { return false, false, errors.ErrUnsupported }
