package shm

import (
	"fmt"
	"net"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"

	"msgbench/transports"
)

var errClosed = fmt.Errorf("shm: %w", transports.ErrClosed)

// conn is one side of a connection. The parts that two goroutines write stand on lines of their own.
type conn struct {
	state atomic.Uint32 // written by Close and by the watcher only
	_     [128]byte
	tx    sender
	_     [128]byte
	rx    receiver
	_     [128]byte

	seg     segment
	wait    transports.Wait
	sock    *net.UnixConn // open for as long as this side lives
	watched chan struct{} // closed when the watcher has ended
	once    sync.Once
}

var _ transports.Conn = (*conn)(nil)

// newConn takes over seg and sock. dir is the direction this side sends in.
func newConn(seg segment, sock *net.UnixConn, dir int, wait transports.Wait) *conn {
	c := &conn{seg: seg, sock: sock, wait: wait, watched: make(chan struct{})}
	c.tx = newSender(seg, dir, wait, &c.state)
	c.rx = newReceiver(seg, 1-dir, wait, &c.state)
	// The address range itself goes when no call can be under way any more.
	runtime.AddCleanup(c, segment.unmap, seg)
	go c.watch()
	return c
}

// watch reads from the socket, on which nothing is ever sent after the handshake: it ends when the peer closes, dies or is
// killed, or when Close closes our side. It sleeps in the netpoller and costs nothing meanwhile.
func (c *conn) watch() {
	defer close(c.watched)
	var b [16]byte
	for {
		if _, err := c.sock.Read(b[:]); err != nil {
			break
		}
	}
	c.state.Or(stateGone)
	c.rouse()
}

// rouse wakes our own side's sleepers after a change of the state.
func (c *conn) rouse() {
	wakeAlways(c.tx.wait.sleeps)
	wakeAlways(c.rx.wait.sleeps)
}

func (c *conn) Send(msg []byte) error {
	err := c.tx.send(msg)
	runtime.KeepAlive(c)
	return err
}

func (c *conn) Recv() ([]byte, error) {
	msg, err := c.rx.recv()
	runtime.KeepAlive(c)
	return msg, err
}

func (c *conn) InFlight(size int) int { return c.seg.geo.inFlight(size) }

func (c *conn) Facts() map[string]string {
	g := c.seg.geo
	f := map[string]string{
		"wait":          string(c.wait),
		"slots":         strconv.FormatUint(g.slots, 10),
		"slot_bytes":    strconv.Itoa(slotBytes),
		"area_bytes":    strconv.FormatUint(g.area, 10),
		"segment_bytes": strconv.FormatUint(g.size(), 10),
	}
	if c.wait == transports.Hybrid {
		f["max_spin_us"] = strconv.FormatInt(maxSpin.Microseconds(), 10)
	}
	return f
}

// naps is how often this side went to sleep in the kernel.
func (c *conn) naps() uint64 { return c.tx.wait.naps.Load() + c.rx.wait.naps.Load() }

// Close also ends the validity of what Recv returned.
func (c *conn) Close() error {
	var err error
	c.once.Do(func() {
		c.state.Or(stateClosed)
		c.rouse() // on the segment: a sleeper waits on its pages, not on the address
		err = c.seg.detach()
		// Only now the peer learns of it: all that was sent is in the segment, which lives as long as the peer maps it.
		_ = c.sock.Close()
		<-c.watched
	})
	if err != nil {
		return fmt.Errorf("shm: close: %w", err)
	}
	return nil
}
