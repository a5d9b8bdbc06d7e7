//go:build !linux

package machine

import (
	"context"
	"time"

	"msgbench/measure"
)

// sleepLateness sleeps n times for 1 ms and tells how much longer each took in ns.
func sleepLateness(ctx context.Context, n int) (late []int64) {
	for len(late) < n && ctx.Err() == nil {
		deadline := measure.Now() + int64(time.Millisecond)
		time.Sleep(time.Millisecond)
		late = append(late, measure.Now()-deadline)
	}
	return late
}
