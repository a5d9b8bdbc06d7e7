package pipe

import (
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"msgbench/transports"
	"msgbench/transports/internal/frame"
	"msgbench/transports/internal/rawfd"
)

// BenchmarkOverhead compares a message with the bare system calls under it: one thread writes to a pipe and reads from it,
// so that nobody sleeps.
func BenchmarkOverhead(b *testing.B) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	msg := make([]byte, 64)
	b.Run("bare", func(b *testing.B) {
		var p [2]int
		if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
			b.Fatal(err)
		}
		defer unix.Close(p[0])
		defer unix.Close(p[1])
		got := make([]byte, 64<<10)
		for b.Loop() {
			if n, err := syscall.Write(p[1], msg); n != len(msg) {
				b.Fatal(err)
			}
			if n, err := syscall.Read(p[0], got); n != len(msg) {
				b.Fatal(err)
			}
		}
	})
	for _, wait := range New().Info().Waits {
		b.Run("wait="+string(wait), func(b *testing.B) {
			var p [2]int
			if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
				b.Fatal(err)
			}
			fd, err := rawfd.Pipes(p[0], p[1], wait)
			if err != nil {
				b.Fatal(err)
			}
			c := frame.NewConn("pipe", fd, transports.DefaultMaxMessage, func(int) int { return 1 }, nil)
			defer c.Close()
			for b.Loop() {
				if err := c.Send(msg); err != nil {
					b.Fatal(err)
				}
				if _, err := c.Recv(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
