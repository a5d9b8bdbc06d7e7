package scenarios

import (
	"encoding/binary"
	"strings"
	"sync"
	"testing"
	"time"

	"msgbench/measure"
	"msgbench/results"
	"msgbench/transports"
)

// runStream runs both sides of data-rate over so many connections and joins what they measured. spoil is what becomes of
// the nth message that the server receives on the first of them.
func runStream(t *testing.T, p Params, spoil func(n int, msg []byte) [][]byte) (m, ms *results.Measurement, clientErr, serverErr error) {
	t.Helper()
	client, server := &Side{Params: p, Measuring: func() {}, Done: func() {}}, &Side{Params: p}
	closed := make(chan struct{})
	for i := range max(p.Channels, 1) {
		c, s := pair()
		c.closed, s.closed = closed, closed
		if spoil == nil {
			c.waits, s.waits = 10*time.Second, 10*time.Second
		}
		if i == 0 {
			s.spoil = spoil
		}
		client.Conns, server.Conns = append(client.Conns, c), append(server.Conns, s)
	}
	var once sync.Once
	leave := func(err error) { // a process that fails takes its connections with it
		if err != nil {
			once.Do(func() { close(closed) })
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		ms, serverErr = DataRate.Roles(p)[0].Run(server)
		leave(serverErr)
	}()
	m, clientErr = DataRate.Driver(p).Run(client)
	leave(clientErr)
	<-done
	if clientErr == nil && serverErr == nil {
		clientErr = DataRate.Join(p, m, []*results.Measurement{ms})
	}
	return
}

// TestRouted holds the counts of a process in the middle against both ends.
func TestRouted(t *testing.T) {
	for _, c := range []struct {
		name                   string
		sent, routed, received []int64
		says                   string
	}{
		{"none", []int64{40, 60}, nil, []int64{30, 70}, ""},
		{"all", []int64{40, 60}, []int64{35, 66}, []int64{30, 70}, ""},
		{"a block of the sender's clock", []int64{40, 60}, []int64{72, 29}, []int64{30, 70}, ""},
		{"later than received", []int64{40, 60}, []int64{29, 72}, []int64{30, 70}, "30 messages were received by the end of step 1, but the router had forwarded 29"},
		{"before it was sent", []int64{40, 60}, []int64{74, 27}, []int64{30, 70}, "had forwarded 74 messages by the end of step 1, but 40 were sent"},
		{"too few", []int64{40, 60}, []int64{35, 65}, []int64{30, 70}, "one to end each of 1 channels, the router forwarded 100"},
		{"too many", []int64{40, 60}, []int64{35, 67}, []int64{30, 70}, "the router forwarded 102"},
	} {
		m := &results.Measurement{Sent: 100, Series: &results.Series{StepNs: seriesStep, Sent: c.sent, Routed: c.routed, Received: c.received}}
		err := routed(Params{Payload: 64}, m)
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: error %v, want one that says %q", c.name, err, c.says)
		}
	}
}

func TestDataRate(t *testing.T) {
	for _, payload := range []int{0, 7, 8, 64, 5000} {
		for _, rate := range []int{0, 2000} {
			for _, channels := range []int{1, 3} {
				for _, count := range []int64{0, 2, 100} {
					p := smallParams(payload, rate)
					p.Channels, p.Count = channels, count
					p.Window *= 5 // or a stall at its start would leave nothing of it
					m, ms, err, serr := runStream(t, p, nil)
					if err != nil || serr != nil {
						t.Fatalf("%d B at %d on %d channels, count %d: %v, %v", payload, rate, channels, count, err, serr)
					}
					checkStream(t, p, m, ms)
				}
			}
		}
	}
}

func checkStream(t *testing.T, p Params, m, ms *results.Measurement) {
	t.Helper()
	if err := m.Check(); err != nil {
		t.Error(err)
	}
	if m.Loop != results.Open || m.Ops != m.Received || m.Sent != m.Received || m.Messages != m.Received || ms.WindowNs != m.WindowNs {
		t.Errorf("%+v", m)
	}
	if m.PayloadBytes != m.Received*int64(p.Payload) || m.RequestBytes != int64(p.Payload+envelope) {
		t.Errorf("%d B of payload in %d messages", m.PayloadBytes, m.Received)
	}
	if p.Count > 0 && m.Received != p.Count {
		t.Errorf("%d messages, want %d", m.Received, p.Count)
	}
	if got := m.Thirds[0] + m.Thirds[1] + m.Thirds[2]; got != m.Received {
		t.Errorf("thirds add up to %d of %d", got, m.Received)
	}
	for what, steps := range map[string][]int64{"sent": m.Series.Sent, "received": m.Series.Received} {
		var sum int64
		for _, n := range steps {
			sum += n
		}
		if sum != m.Received {
			t.Errorf("the steps of what was %s add up to %d of %d", what, sum, m.Received)
		}
	}
	if len(m.Series.RSS) == 0 || m.Series.RSS[0] <= 0 {
		t.Errorf("resident sizes %v", m.Series.RSS)
	}
	if p.Rate == 0 {
		if m.Latency != nil || m.Service != nil || m.Lateness != nil {
			t.Error("latencies at max would only tell how long the buffers are")
		}
		return
	}
	// A machine that stalls may not get all of them out in time; none is ever early.
	most := messagesDue(p)
	if m.Received > most || m.WindowNs < (measure.Schedule{Rate: int64(p.Rate)}).At(most) {
		t.Errorf("%d of %d messages in %d ns", m.Received, most, m.WindowNs)
	}
	if m.LatencyKind != results.OneWay || m.Latency.Count() != m.Received || m.Service.Count() != m.Received || m.Lateness.Count() != m.Received {
		t.Errorf("%d latencies, %d of service, %d of lateness of %d messages", m.Latency.Count(), m.Service.Count(), m.Lateness.Count(), m.Received)
	}
	response, _ := m.Latency.Mean()
	service, _ := m.Service.Mean()
	if response < service {
		t.Errorf("from when they were intended it takes %g ns, from when they were sent %g ns", response, service)
	}
}

// What is due in a window is counted in whole numbers, up to the longest window at the highest rate.
func TestMessagesDue(t *testing.T) {
	for _, c := range []struct {
		window time.Duration
		rate   int
		want   int64
	}{
		{1140 * time.Millisecond, 10_000, 11_400}, {290 * time.Millisecond, 100, 29}, {10 * time.Millisecond, 1, 1}, {1999 * time.Millisecond, 1, 1},
		{time.Hour, 100_000_000, 360_000_000_000},
	} {
		if got := messagesDue(Params{Window: c.window, Rate: c.rate}); got != c.want {
			t.Errorf("%s at %d/s: %d, want %d", c.window, c.rate, got, c.want)
		}
	}
	if got := messagesDue(Params{Window: time.Second, Rate: 7, Count: 3}); got != 3 {
		t.Errorf("a count: %d, want 3", got)
	}
}

// Every way in which a transport can spoil a message is noticed.
func TestDataRateNoticesFaults(t *testing.T) {
	const at = 17
	var held []byte
	faults := map[string]func(n int, m []byte) [][]byte{
		"repeats":   one(at, func(m []byte) [][]byte { return [][]byte{m, m} }),
		"drops":     one(at, func([]byte) [][]byte { return nil }),
		"truncates": one(at, func(m []byte) [][]byte { return [][]byte{m[:len(m)-1]} }),
		"cuts the envelope": one(at, func(m []byte) [][]byte {
			return [][]byte{m[:20]}
		}),
		"swaps": func(n int, m []byte) [][]byte {
			switch n {
			case at:
				held = append([]byte(nil), m...)
				return nil
			case at + 1:
				return [][]byte{m, held}
			}
			return [][]byte{m}
		},
		"corrupts the first byte of the payload": one(at, flip(envelope)),
		"corrupts the last byte":                 one(at, flip(-1)),
		"corrupts a byte in the middle":          one(at, flip(envelope+30)),
		"corrupts the sequence":                  one(at, flip(0)),
		"corrupts the kind":                      one(at, flip(16)),
		"corrupts the length":                    one(at, flip(20)),
		"corrupts the zero":                      one(at, flip(31)),
		"drops the last": func(n int, m []byte) [][]byte {
			if kindOf(m) == kindFinish {
				binary.LittleEndian.PutUint64(m, seqOf(m)+1)
			}
			return [][]byte{m}
		},
		"stamps with the future": func(n int, m []byte) [][]byte {
			if kindOf(m) == kindData {
				binary.LittleEndian.PutUint64(m[8:], uint64(measure.Now()+int64(time.Hour)))
			}
			return [][]byte{m}
		},
	}
	for name, fault := range faults {
		for _, channels := range []int{1, 2} {
			p := smallParams(64, 5000)
			p.Channels, p.Count = channels, 100 // however late
			_, _, err, serr := runStream(t, p, fault)
			if serr == nil {
				t.Errorf("%s on %d channels: the receiver did not notice (%v)", name, channels, err)
				continue
			}
			if strings.Contains(serr.Error(), "\n") {
				t.Errorf("%s: not one line: %q", name, serr)
			}
			if name == "stamps with the future" && !strings.Contains(serr.Error(), "the clocks of the two sides do not agree") {
				t.Error(serr)
			}
		}
	}
}

// one spoils the nth message only.
func one(at int, fault func([]byte) [][]byte) func(int, []byte) [][]byte {
	return func(n int, m []byte) [][]byte {
		if n == at {
			return fault(m)
		}
		return [][]byte{m}
	}
}

// A sender in another time namespace is refused before the window begins.
func TestDataRateRefusesOtherTimeNamespace(t *testing.T) {
	c, s := pair()
	go func() {
		for {
			m, err := s.Recv()
			if err != nil {
				return
			}
			if kindOf(m) == kindMark {
				putEnvelope(m, seqOf(m), timeNamespace()+1, kindMark)
				s.Send(m)
			}
		}
	}()
	p := smallParams(64, 0)
	_, err := dataRateClient(&Side{Conns: []transports.Conn{c}, Params: p, Measuring: func() {}, Done: func() {}})
	if err == nil || !strings.Contains(err.Error(), "time namespaces") {
		t.Errorf("%v", err)
	}
}

func TestShare(t *testing.T) {
	for _, c := range []struct{ count, channels int64 }{{100, 3}, {2, 5}, {7, 1}} {
		var sum int64
		for i := range c.channels {
			sum += share(c.count, int(i), int(c.channels))
		}
		if sum != c.count {
			t.Errorf("%d messages on %d channels: %d", c.count, c.channels, sum)
		}
	}
}

// sink is a connection that keeps the last message.
type sink struct {
	chanConn
	last []byte
}

func (s *sink) Send(msg []byte) error { s.last = msg; return nil }

func TestStreamDoesNotAllocate(t *testing.T) {
	for _, rate := range []int{0, 1_000_000} {
		p := smallParams(64, rate)
		conn := &sink{}
		side := &Side{Conns: []transports.Conn{conn}, Params: p, LockThread: true}
		x, r := newStreamSender(side, 0), newStreamReceiver(side, 0)
		x.begin(measure.Now())
		r.begin(x.start, 1)
		if n := testing.AllocsPerRun(1000, func() {
			if err := x.send(measure.Now()); err != nil {
				t.Error(err)
			}
			// Out of its schedule here, so that only what it allocates is looked at.
			if r.latency != nil {
				r.latency.first = x.seq + 1
			}
			if err := r.data(conn.last); err != nil {
				t.Error(err)
			}
		}); n != 0 {
			t.Errorf("rate %d: %v allocations a message", rate, n)
		}
	}
}
