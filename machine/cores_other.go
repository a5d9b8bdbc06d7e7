//go:build !linux

package machine

import "context"

// MeasureCores is nil: threads can't be bound to CPUs here.
func MeasureCores(context.Context, []int) *CoreMap { return nil }
