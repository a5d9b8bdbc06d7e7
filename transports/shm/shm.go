// Package shm moves messages between two processes through memory that both have mapped: one ring of fixed slots in each
// direction, a byte area beside it for messages that do not fit into a slot, and a futex for the side that has nothing
// to do. While both sides run, a message costs no system call. The exact layout, the order of the stores and the
// handshake stand in docs/wire-shm.md; this package is one implementation of it.
package shm

import "msgbench/transports"

// maxMessage is the largest message in bytes, envelope included. The area must hold two of them (see geometry), and more
// than 16 MiB of it per direction would only measure the memory bus.
const maxMessage = 8 << 20

type transport struct{}

// New returns the shared-memory transport. On systems other than Linux its Probe says why it can't run.
func New() transports.Transport { return transport{} }

var (
	_ transports.Transport = transport{}
	_ transports.Prober    = transport{}
)

func (transport) Info() transports.Info {
	return transports.Info{
		Name:       "shm",
		Summary:    "shared memory: a ring of slots each way, futex only while a side sleeps",
		Waits:      []transports.Wait{transports.Hybrid, transports.Spin, transports.Block},
		MaxMessage: maxMessage,
		LockThread: true,
	}
}
