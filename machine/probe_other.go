//go:build !linux && !darwin && !freebsd

package machine

// probeNative has nothing to try here.
func probeNative(*Probes, string) {}
