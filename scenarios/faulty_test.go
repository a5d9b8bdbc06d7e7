package scenarios

import (
	"cmp"
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"time"

	"msgbench/results"
	"msgbench/transports"
)

// chanConn is a connection between two goroutines: enough to try what the sides say to each other.
type chanConn struct {
	in, out chan []byte
	closed  chan struct{}
	spoil   func(n int, msg []byte) [][]byte // what becomes of the nth message received; nil: nothing
	n       int
	pending [][]byte
	waits   time.Duration // for a message; 0: 200 ms
}

var errTimeout = errors.New("nothing came")

func pair() (*chanConn, *chanConn) {
	a, b, closed := make(chan []byte, 64), make(chan []byte, 64), make(chan struct{})
	return &chanConn{in: a, out: b, closed: closed}, &chanConn{in: b, out: a, closed: closed}
}

func (c *chanConn) Send(msg []byte) error {
	select {
	case c.out <- append([]byte(nil), msg...):
		return nil
	case <-c.closed:
		return errors.New("closed")
	}
}

func (c *chanConn) Recv() ([]byte, error) {
	for {
		if len(c.pending) > 0 {
			m := c.pending[0]
			c.pending = c.pending[1:]
			return m, nil
		}
		select {
		case m := <-c.in:
			c.n++
			c.pending = [][]byte{m}
			if c.spoil != nil {
				c.pending = c.spoil(c.n, m)
			}
		case <-c.closed:
			return nil, errors.New("closed")
		case <-time.After(cmp.Or(c.waits, 200*time.Millisecond)):
			return nil, errTimeout
		}
	}
}

func (c *chanConn) InFlight(int) int         { return 64 }
func (c *chanConn) Facts() map[string]string { return map[string]string{} }
func (c *chanConn) Close() error             { return nil }

// runPair runs both sides of a scenario and returns what they measured.
func runPair(t *testing.T, s Scenario, p Params, client, server *chanConn) (m, ms *results.Measurement, clientErr, serverErr error) {
	t.Helper()
	nothing := func() {}
	done := make(chan struct{})
	go func() {
		defer close(done)
		ms, serverErr = s.Roles(p)[0].Run(&Side{Conns: []transports.Conn{server}, Params: p})
	}()
	m, clientErr = s.Driver(p).Run(&Side{Conns: []transports.Conn{client}, Params: p, Measuring: nothing, Done: nothing})
	if clientErr != nil {
		close(client.closed)
	}
	<-done
	return
}

func smallParams(payload, rate int) Params {
	return Params{Payload: payload, Rate: rate, Warmup: time.Millisecond, WarmupOps: 10, WarmupMax: 100 * time.Millisecond,
		Window: 20 * time.Millisecond}
}

func TestPingPong(t *testing.T) {
	for _, payload := range []int{0, 1, 7, 8, 64, 4096, 5000} {
		for _, rate := range []int{0, 1000} {
			c, s := pair()
			m, ms, err, serr := runPair(t, PingPong, smallParams(payload, rate), c, s)
			if err != nil || serr != nil {
				t.Fatalf("%d B at %d: %v, %v", payload, rate, err, serr)
			}
			if m.Ops == 0 || ms.Received != m.Sent {
				t.Errorf("%d B at %d: %d operations, sent %d, the server received %d", payload, rate, m.Ops, m.Sent, ms.Received)
			}
			if rate > 0 {
				if want := int64(20); m.Ops > want || m.WindowNs < int64(20*time.Millisecond) {
					t.Errorf("%d operations at %d/s in %d ns", m.Ops, rate, m.WindowNs)
				}
			}
		}
	}
}

// Every way in which a peer can spoil a message is noticed in every scenario of requests and replies, at either side.
func TestFaultsAreNoticed(t *testing.T) {
	const at = 17 // within the warm-up or the window, whichever comes: both check
	withSeq := func(add uint64) func([]byte) [][]byte {
		return func(m []byte) [][]byte {
			other := append([]byte(nil), m...)
			binary.LittleEndian.PutUint64(other, seqOf(m)+add)
			return [][]byte{other}
		}
	}
	faults := map[string]func(m []byte) [][]byte{
		"repeats":                                func(m []byte) [][]byte { return [][]byte{m, m} },
		"drops":                                  func(m []byte) [][]byte { return nil },
		"truncates":                              func(m []byte) [][]byte { return [][]byte{m[:len(m)-1]} },
		"cuts the envelope":                      func(m []byte) [][]byte { return [][]byte{m[:20]} },
		"corrupts the first byte of the payload": flip(envelope),
		"corrupts the last byte":                 flip(-1),
		"corrupts a byte in the middle":          flip(envelope + 30),
		"corrupts the sequence":                  flip(0),
		"corrupts the kind":                      flip(16),
		"corrupts the length":                    flip(20),
		"corrupts the zero":                      flip(31),
		"answers an old one":                     withSeq(^uint64(1)), // two less
		"skips one":                              withSeq(1),
		"swaps":                                  nil, // two messages, see below
	}
	for _, c := range []struct {
		s    Scenario
		mode string
	}{{PingPong, ""}, {Batch, ""}, {Pipeline, modeCycle}, {Pipeline, modeWindow}, {PipelineBatch, ""}, {Snapshot, ""}} {
		p := smallParams(64, 0)
		p.Mode, p.Depth = c.mode, 4
		p.Count = 2 * at // a machine that stalls may not come so far in a window by time
		oneInFlight := c.s.Pattern == transports.RequestReply
		for name, fault := range faults {
			if fault == nil && oneInFlight {
				continue // there are never two messages to be swapped
			}
			for _, side := range []string{"client", "server"} {
				t.Run(c.s.Name+c.mode+"/"+name+"/"+side, func(t *testing.T) {
					client, server := pair()
					var held []byte
					spoil := func(n int, m []byte) [][]byte {
						switch {
						case fault == nil && n == at:
							held = m
							return nil
						case fault == nil && n == at+1:
							return [][]byte{m, held}
						case fault != nil && n == at:
							return fault(m)
						}
						return [][]byte{m}
					}
					if side == "client" {
						client.spoil = spoil
					} else {
						server.spoil = spoil
					}
					_, _, err, serr := runPair(t, c.s, p, client, server)
					// A byte spoiled on its way to the server may come back, and only the client knows what it should be.
					if err == nil && serr == nil {
						t.Fatal("nobody noticed")
					}
					for _, e := range []error{err, serr} {
						if e != nil && strings.Contains(e.Error(), "\n") {
							t.Errorf("not one line: %q", e)
						}
					}
				})
			}
		}
	}
}

// The same scenarios over a link without a fault measure something, and both sides count the same.
func TestScenariosOverAGoodLink(t *testing.T) {
	for _, c := range []struct {
		s    Scenario
		mode string
	}{{Batch, ""}, {Pipeline, modeCycle}, {Pipeline, modeWindow}, {PipelineBatch, ""}, {Snapshot, ""}} {
		p := smallParams(64, 0)
		p.Mode, p.Depth = c.mode, 4
		client, server := pair()
		m, ms, err, serr := runPair(t, c.s, p, client, server)
		if err != nil || serr != nil {
			t.Errorf("%s %s: %v, %v", c.s.Name, c.mode, err, serr)
			continue
		}
		if m.Ops == 0 || m.Sent == 0 || ms.Received != m.Sent {
			t.Errorf("%s %s: %d operations, sent %d, the server received %d", c.s.Name, c.mode, m.Ops, m.Sent, ms.Received)
		}
		if err := c.s.Join(p, m, []*results.Measurement{ms}); err != nil {
			t.Errorf("%s %s: %v", c.s.Name, c.mode, err)
		}
	}
}

// flip spoils one byte, counted from the end where at is negative.
func flip(at int) func([]byte) [][]byte {
	return func(m []byte) [][]byte {
		b := append([]byte(nil), m...)
		i := at
		if i < 0 {
			i += len(b)
		}
		b[min(i, len(b)-1)] ^= 0x40
		return [][]byte{b}
	}
}

func TestSequenceErrorSaysWhat(t *testing.T) {
	for _, c := range []struct {
		got, want uint64
		text      string
	}{
		{4, 5, "message 4 came twice"},
		{2, 5, "message 2 came late: 5 was expected"},
		{7, 5, "message 7 came where 5 was expected: 2 lost"},
	} {
		if got := (&sequenceError{c.got, c.want}).Error(); got != c.text {
			t.Errorf("%q, want %q", got, c.text)
		}
	}
}
