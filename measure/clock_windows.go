package measure

import (
	"math/bits"
	"syscall"
	"unsafe"
)

var (
	queryCounter = syscall.NewLazyDLL("kernel32.dll").NewProc("QueryPerformanceCounter")
	frequency    = counterFrequency()
)

func counterFrequency() uint64 {
	var f int64
	syscall.NewLazyDLL("kernel32.dll").NewProc("QueryPerformanceFrequency").Call(uintptr(unsafe.Pointer(&f)))
	return uint64(max(f, 1))
}

// Now is the performance counter in nanoseconds, the same for all processes of this host. The runtime's own clock ticks
// too coarsely on Windows.
func Now() int64 {
	var c int64
	queryCounter.Call(uintptr(unsafe.Pointer(&c)))
	// 128 bits in between: counter × 10⁹ overflows 64 bits within hours of uptime.
	hi, lo := bits.Mul64(uint64(c), 1e9)
	q, _ := bits.Div64(hi%frequency, lo, frequency)
	return int64(q)
}
