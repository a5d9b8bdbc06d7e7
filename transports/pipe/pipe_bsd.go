//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package pipe

import "msgbench/transports"

// Info tells what pipes can do.
func (*Transport) Info() transports.Info {
	return transports.Info{
		Name:       "pipe",
		Summary:    "two named pipes (FIFO), non-blocking system calls and poll",
		Waits:      []transports.Wait{transports.Block},
		MaxMessage: maxMessage,
		LockThread: true,
	}
}

// capacity is what the smallest FIFO of these systems surely takes, in bytes: they begin with a page or two and grow.
func capacity(_, _ int) int { return 4096 }

// inFlight is how many frames of size bytes a FIFO of capacity bytes surely takes.
func inFlight(size, capacity int) int { return capacity / size }

// setCapacity can't be done here.
func setCapacity(_, _, _ int) error { return nil }

func facts(_, _ int) map[string]string { return map[string]string{} }
