package scenarios

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"msgbench/results"
	"msgbench/transports"
)

// chanBroadcast is a broadcast of a transport's own, between goroutines. drop says which of the messages to a subscriber
// get lost.
type chanBroadcast struct {
	mu    sync.Mutex
	out   []*chanConn
	lossy bool
	drop  func(subscriber, n int, msg []byte) bool
	spoil func(n int, msg []byte) [][]byte // what becomes of a message at the first subscriber; nil: nothing
	n     int
}

func (b *chanBroadcast) Lossy() bool { return b.lossy }

func (b *chanBroadcast) ListenBroadcast(transports.Options) (transports.Listener, error) {
	return chanListener{b}, nil
}

func (b *chanBroadcast) DialBroadcast(endpoint string, _ transports.Options) (transports.Conn, error) {
	if endpoint != "here" {
		return nil, fmt.Errorf("endpoint %q", endpoint)
	}
	a, c := pair()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.out) == 0 {
		c.spoil = b.spoil
	}
	b.out = append(b.out, a)
	return c, nil
}

type chanListener struct{ b *chanBroadcast }

func (l chanListener) Endpoint() string                 { return "here" }
func (l chanListener) Accept() (transports.Conn, error) { return chanPublisher{l.b}, nil }
func (l chanListener) Close() error                     { return nil }

type chanPublisher struct{ b *chanBroadcast }

func (p chanPublisher) Send(msg []byte) error {
	p.b.mu.Lock()
	defer p.b.mu.Unlock()
	p.b.n++
	for i, c := range p.b.out {
		if p.b.drop != nil && p.b.drop(i, p.b.n, msg) {
			continue
		}
		if err := c.Send(msg); err != nil {
			return err
		}
	}
	return nil
}

func (chanPublisher) Recv() ([]byte, error)    { return nil, errors.New("a publisher only sends") }
func (chanPublisher) InFlight(int) int         { return 1 }
func (chanPublisher) Facts() map[string]string { return map[string]string{} }
func (chanPublisher) Close() error             { return nil }

// runBroadcast runs a publisher and its subscribers, and joins what they found.
func runBroadcast(t *testing.T, p Params, b *chanBroadcast, spoil func(n int, msg []byte) [][]byte) (*results.Measurement, error) {
	t.Helper()
	var ends []transports.Conn
	subs := make([]*results.Measurement, p.Subscribers)
	errs := make([]error, p.Subscribers+1)
	var own transports.Broadcaster
	if b != nil {
		own = b
	}
	var wg sync.WaitGroup
	for i := range p.Subscribers {
		pub, sub := pair()
		if i == p.Subscribers-1 {
			sub.spoil = spoil
		}
		ends = append(ends, pub)
		wg.Go(func() {
			subs[i], errs[i] = subscribe(&Side{Role: results.Subscriber, Conns: []transports.Conn{sub}, Params: p, Broadcast: own})
			if errs[i] != nil {
				close(sub.closed)
			}
		})
	}
	nothing := func() {}
	m, err := publish(&Side{Role: results.Publisher, Conns: ends, Params: p, Broadcast: own, Measuring: nothing, Done: nothing})
	errs[p.Subscribers] = err
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return m, joinSubscribers(p, m, subs)
}

func broadcastParams(mode string, rate, subscribers int) Params {
	p := smallParams(64, rate)
	p.Mode, p.Subscribers = mode, subscribers
	p.Window = 60 * time.Millisecond // of which a busy machine may take a part
	return p
}

func TestBroadcast(t *testing.T) {
	for _, mode := range []string{modePull, modeRate, modeFlood} {
		for _, n := range []int{1, 3} {
			for _, native := range []bool{false, true} {
				t.Run(fmt.Sprint(mode, n, native), func(t *testing.T) {
					rate := 0
					if mode == modeRate {
						rate = 1000
					}
					var b *chanBroadcast
					if native {
						b = &chanBroadcast{lossy: true}
					}
					m, err := runBroadcast(t, broadcastParams(mode, rate, n), b, nil)
					if err != nil {
						t.Fatal(err)
					}
					if m.Ops == 0 || m.Messages != m.Ops*int64(n) || m.Received != m.Messages || m.Sent != m.Messages || m.Lost != 0 {
						t.Errorf("%d publications, sent %d, received %d, lost %d, %d deliveries", m.Ops, m.Sent, m.Received, m.Lost, m.Messages)
					}
					if len(m.Receivers) != n || m.PayloadBytes != m.Messages*64 {
						t.Errorf("%d receivers, %d B", len(m.Receivers), m.PayloadBytes)
					}
					if got := m.Facts["broadcast"]; (got == "native") != native {
						t.Errorf("broadcast=%s", got)
					}
					switch mode {
					case modeFlood:
						if m.Latency != nil || m.Loop != results.Open || m.LatencyKind != "" {
							t.Errorf("a flood has no latency: %s %q", m.Loop, m.LatencyKind)
						}
					case modePull:
						if m.Latency.Count() != m.Messages || m.Loop != results.Closed || m.Service != nil {
							t.Errorf("pull: %d latencies of %d deliveries, loop %s", m.Latency.Count(), m.Messages, m.Loop)
						}
					case modeRate:
						if m.Latency.Count() != m.Messages || m.Service.Count() != m.Messages || m.Lateness.Count() != m.Ops || m.Loop != results.Open {
							t.Errorf("rate: %d response times, %d service times of %d deliveries", m.Latency.Count(), m.Service.Count(), m.Messages)
						}
					}
				})
			}
		}
	}
}

// A window is announced again where the subscribers answer after its start: one that began before anything was sent would
// count time in which nobody sent, and stamp the first message too early.
func TestBroadcastWindowBeginsAfterTheAnswers(t *testing.T) {
	for _, native := range []bool{false, true} {
		for _, mode := range []string{modeRate, modeFlood} {
			t.Run(fmt.Sprint(mode, native), func(t *testing.T) {
				p := broadcastParams(mode, 0, 2)
				if mode == modeRate {
					p.Rate = 1000
				}
				var b *chanBroadcast
				if native {
					b = &chanBroadcast{lossy: true}
				}
				var mu sync.Mutex
				marks, slow := map[int64]bool{}, 0
				late := func(_ int, msg []byte) [][]byte {
					mu.Lock()
					again := marks[stampOf(msg)]
					if kindOf(msg) == kindMark {
						marks[stampOf(msg)] = true
					}
					first := kindOf(msg) == kindMark && !again && slow == 0
					if first {
						slow++
					}
					mu.Unlock()
					if first {
						time.Sleep(markLead + 10*time.Millisecond)
					}
					return [][]byte{msg}
				}
				var spoil func(int, []byte) [][]byte
				if native {
					b.spoil = late
				} else {
					spoil = late
				}
				m, err := runBroadcast(t, p, b, spoil)
				if err != nil {
					t.Fatal(err)
				}
				if len(marks) < 2 {
					t.Fatalf("%d announcements of the window, the first of which was answered too late", len(marks))
				}
				if m.WindowNs < int64(p.Window) {
					t.Errorf("a window of %d ns", m.WindowNs)
				}
			})
		}
	}
}

// At a fixed rate, too, a window lasts until the last delivery: what a publisher only put into buffers was not delivered at
// that rate.
func TestBroadcastWindowEndsWithTheLastDelivery(t *testing.T) {
	p := broadcastParams(modeRate, 1000, 2)
	const takes = 2 * time.Millisecond
	m, err := runBroadcast(t, p, nil, func(_ int, msg []byte) [][]byte {
		if kindOf(msg) == kindData {
			time.Sleep(takes)
		}
		return [][]byte{msg}
	})
	if err != nil {
		t.Fatal(err)
	}
	if m.Ops < 10 || m.WindowNs < m.Ops*int64(takes) {
		t.Errorf("%d publications of %s each were delivered in %s", m.Ops, takes, time.Duration(m.WindowNs))
	}
	if response, _ := m.Latency.Max(); m.WindowNs < response {
		t.Errorf("a window of %d ns holds a latency of %d ns", m.WindowNs, response)
	}
}

// What a broadcast of the transport's own loses is counted for the subscriber that lost it; announcements are repeated.
func TestBroadcastCountsLosses(t *testing.T) {
	for _, mode := range []string{modeRate, modeFlood} {
		rate := 0
		if mode == modeRate {
			rate = 2000
		}
		control := map[kind]int{}
		b := &chanBroadcast{lossy: true, drop: func(subscriber, n int, msg []byte) bool {
			if k := kindOf(msg); k != kindData {
				control[k]++
				return control[k] <= 2 // the first announcement is lost for everybody
			}
			return subscriber == 1 && n%10 == 0
		}}
		m, err := runBroadcast(t, broadcastParams(mode, rate, 2), b, nil)
		if err != nil {
			t.Fatal(mode, err)
		}
		// They dial in any order.
		if m.Lost == 0 || max(m.Receivers[0].Lost, m.Receivers[1].Lost) != m.Lost || m.Sent != m.Received+m.Lost {
			t.Errorf("%s: sent %d, received %d, lost %d, %v", mode, m.Sent, m.Received, m.Lost, m.Receivers)
		}
		if m.Messages != m.Received {
			t.Errorf("%s: %d deliveries, but %d received", mode, m.Messages, m.Received)
		}
	}
}

// Where nothing may be lost, every fault of a peer fails the sample, whichever message it meets.
func TestBroadcastNoticesFaults(t *testing.T) {
	for name, fault := range map[string]func(m []byte) [][]byte{
		"repeats":                 func(m []byte) [][]byte { return [][]byte{m, m} },
		"drops":                   func(m []byte) [][]byte { return nil },
		"truncates":               func(m []byte) [][]byte { return [][]byte{m[:len(m)-1]} },
		"corrupts the first byte": flip(envelope),
		"corrupts the last byte":  flip(-1),
		"corrupts the sequence":   flip(0),
		"corrupts the kind":       flip(16),
	} {
		for _, mode := range []string{modePull, modeFlood} {
			t.Run(name+" "+mode, func(t *testing.T) {
				n := 0
				_, err := runBroadcast(t, broadcastParams(mode, 0, 2), nil, func(_ int, m []byte) [][]byte {
					if kindOf(m) == kindData {
						if n++; n == 20 {
							return fault(m)
						}
					}
					return [][]byte{m}
				})
				if err == nil {
					t.Fatal("nobody noticed")
				}
				t.Log(strings.ReplaceAll(err.Error(), "\n", " / "))
			})
		}
	}
}

func TestBroadcastModes(t *testing.T) {
	for _, c := range []struct {
		mode string
		rate int
		ok   bool
	}{
		{modePull, 0, true}, {modeFlood, 0, true}, {modeRate, 1000, true},
		{modePull, 1000, false}, {modeFlood, 1000, false}, {modeRate, 0, false}, {"shout", 0, false},
	} {
		if err := checkBroadcastMode(c.mode, c.rate); (err == nil) != c.ok {
			t.Errorf("%s at %d: %v", c.mode, c.rate, err)
		}
	}
	if broadcastMode(0) != modeFlood || broadcastMode(time.Now().Year()) != modeRate {
		t.Error("the default is flood at max and rate at a fixed rate")
	}
}
