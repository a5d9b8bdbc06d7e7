//go:build amd64 || arm64

package shm

import "unsafe"

// poll loads *addr (acquire) until it is not old, at most n > 0 times with the CPU's spin hint in between, and returns
// what it saw last. It is assembly for the hint alone: with PAUSE a round trip between hyper-threads takes 70 ns instead
// of 104, between cores some 10 % less, since the load that sees the change is not one of dozens to be thrown away.
// The runtime cannot preempt it, so n stays small.
//
//go:noescape
func poll(addr *uint64, old uint64, n int) uint64

// prefetchWrite asks for the line of addr, to be written soon. It changes nothing else.
//
//go:noescape
func prefetchWrite(addr unsafe.Pointer)
