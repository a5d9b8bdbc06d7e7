//go:build linux && !amd64 && !arm64

package shm

import (
	"sync/atomic"
	"unsafe"
)

// poll is the same without a spin hint.
func poll(addr *uint64, old uint64, n int) uint64 {
	for range n {
		if v := atomic.LoadUint64(addr); v != old {
			return v
		}
	}
	return old
}

func prefetchWrite(unsafe.Pointer) {}
