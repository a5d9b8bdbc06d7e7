//go:build !linux && !darwin && !windows

package machine

// describeNative has nothing to add here.
func describeNative(*Environment) {}
