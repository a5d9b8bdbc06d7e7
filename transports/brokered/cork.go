package brokered

import "msgbench/transports"

var _ transports.Corker = (*stack)(nil)

// corkLimit is up to how many bytes of frames wait for one write: no more than the router reads at a time.
const corkLimit = 64 << 10

// write writes a frame, or keeps it back. The lock is held.
func (x *wire) write(head, body []byte) error {
	n := len(head) + len(body)
	if len(x.kept)+n > corkLimit {
		if err := x.writeKept(); err != nil {
			return err
		}
	}
	if x.corked && n <= corkLimit {
		x.kept = append(append(x.kept, head...), body...)
		return nil
	}
	return x.sent(x.stream.WriteBoth(head, body))
}

func (x *wire) writeKept() error {
	if len(x.kept) == 0 {
		return nil
	}
	err := x.stream.WriteBoth(x.kept, nil)
	x.kept = x.kept[:0]
	return x.sent(err)
}

// Cork keeps frames back from now on. Raw connections have no such thing: they are the hop alone.
func (c *stack) Cork() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept == nil {
		c.kept = make([]byte, 0, corkLimit)
		c.facts["corked"] = "yes"
	}
	c.corked = true
}

// Uncork writes what was kept back.
func (c *stack) Uncork() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.corked = false
	return c.writeKept()
}
