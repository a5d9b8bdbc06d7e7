package scenarios

import (
	"fmt"

	"msgbench/results"
	"msgbench/results/hist"
	"msgbench/transports"
)

// The modes of broadcast: in pull the next publication goes out when every subscriber has asked for it, in rate at its
// intended time, in flood at once. Flood has no latency, which would only measure buffers.
const (
	modePull  = "pull"
	modeRate  = "rate"
	modeFlood = "flood"
)

const maxSubscribers = 64

// Broadcast sends each message to several subscribers. An operation is a publication.
var Broadcast = Scenario{
	Name:    "broadcast",
	Summary: "one publisher, N subscribers, one-way latency; mode pull: the next when all have asked, rate: at a fixed rate, flood: no pacing, no latency",
	Pattern: transports.Stream,
	Payload: true,
	Paced:   true,
	Dims: []Dim{
		{Name: "mode", Default: broadcastMode, Check: checkBroadcastMode},
		{Name: "subscribers", Default: fixedDefault("1"), Check: numberFrom1(maxSubscribers)},
	},
	MaxMessage: func(p Params) int { return envelope + max(p.Payload, maxEndpoint) },
	Roles: func(p Params) []Role {
		return []Role{
			{Name: results.Subscriber, Processes: max(p.Subscribers, 1), Listens: true, Conns: 1, Run: subscribe},
			{Name: results.Publisher, Processes: 1, Run: publish},
		}
	},
	Join: joinSubscribers,
}

// maxEndpoint is the longest endpoint of a transport's own broadcast in bytes.
const maxEndpoint = 512

func broadcastMode(rate int) string {
	if rate > 0 {
		return modeRate
	}
	return modeFlood
}

func checkBroadcastMode(v string, rate int) error {
	switch {
	case v != modePull && v != modeRate && v != modeFlood:
		return fmt.Errorf("%q is none of %s, %s and %s", v, modePull, modeRate, modeFlood)
	case rate > 0 && v != modeRate:
		return fmt.Errorf("%s runs at max only, %s is for a fixed rate", v, modeRate)
	case rate == 0 && v == modeRate:
		return fmt.Errorf("%s needs a fixed rate", modeRate)
	}
	return nil
}

// joinSubscribers adds up what the subscribers received.
func joinSubscribers(p Params, m *results.Measurement, subscribers []*results.Measurement) error {
	if err := publisherAccount(p, m); err != nil {
		return fmt.Errorf("the publisher %w", err)
	}
	lossy := m.Facts["lossy"] == "yes"
	m.Received, m.Lost, m.Duplicated, m.Reordered, m.Receivers = 0, 0, 0, 0, nil
	for i, s := range subscribers {
		if err := subscriberAccount(p, s); err != nil {
			return fmt.Errorf("subscriber %d: %w", i+1, err)
		}
		if got := s.Received + s.Lost; got != m.Ops {
			return fmt.Errorf("%d publications, but subscriber %d accounts for %d", m.Ops, i+1, got)
		}
		if !lossy && s.Lost+s.Duplicated+s.Reordered > 0 {
			return fmt.Errorf("subscriber %d lost %d messages, got %d twice and %d late, on a transport that may not",
				i+1, s.Lost, s.Duplicated, s.Reordered)
		}
		m.Received += s.Received
		m.Lost += s.Lost
		m.Duplicated += s.Duplicated
		m.Reordered += s.Reordered
		m.Receivers = append(m.Receivers, results.Counts{Received: s.Received, Lost: s.Lost, Duplicated: s.Duplicated, Reordered: s.Reordered})
		m.WindowNs = max(m.WindowNs, s.WindowNs)
		for _, h := range []struct{ into, from **hist.Hist }{{&m.Latency, &s.Latency}, {&m.Service, &s.Service}} {
			if *h.into == nil {
				*h.into = *h.from
			} else if *h.from != nil {
				(*h.into).Merge(*h.from)
			}
		}
	}
	m.Sent = m.Ops * int64(len(subscribers))
	m.Messages = m.Received
	m.PayloadBytes = m.Received * int64(p.Payload)
	return nil
}

// publisherAccount checks what a publisher says of itself.
func publisherAccount(p Params, m *results.Measurement) error {
	loop, kind := results.Open, results.OneWay
	switch p.Mode {
	case modePull:
		loop = results.Closed
	case modeFlood:
		kind = ""
	}
	if err := words(m, loop, kind); err != nil {
		return err
	}
	turns, err := turnsOf(p, m)
	if err == nil && turns != m.Ops {
		err = fmt.Errorf("%d publications, but %d in the three thirds of the window", m.Ops, turns)
	}
	if err == nil {
		err = counted(m.Ops, "publications", timed{"values of its own lateness", m.Lateness, p.Rate > 0},
			timed{"latencies of its own", m.Latency, false}, timed{"service times of its own", m.Service, false})
	}
	if err != nil {
		return fmt.Errorf("counts %w", err)
	}
	if b := m.Facts["broadcast"]; b != "fan-out" && b != "native" || m.Facts["lossy"] == "yes" && b != "native" {
		return fmt.Errorf("says broadcast=%s, lossy=%s: want fan-out or native, and only that may be lossy", b, m.Facts["lossy"])
	}
	return nil
}

// subscriberAccount checks what a subscriber says of itself.
func subscriberAccount(p Params, s *results.Measurement) error {
	if min(s.Received, s.Lost, s.Duplicated, s.Reordered) < 0 {
		return fmt.Errorf("%d received, %d lost, %d twice, %d late, want 0 or more", s.Received, s.Lost, s.Duplicated, s.Reordered)
	}
	if err := counted(s.Received+s.Duplicated, "publications that came", timed{"latencies", s.Latency, p.Mode != modeFlood},
		timed{"service times", s.Service, p.Rate > 0}); err != nil {
		return err
	}
	return longest(s.WindowNs, s.Latency, s.Service)
}
