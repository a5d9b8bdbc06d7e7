package scenarios

import (
	"fmt"

	"msgbench/results"
)

// joinDataRate takes the figures of the receiver, and checks that it got all that was sent, and that all of it went through the
// process in the middle, if there is one.
func joinDataRate(p Params, m *results.Measurement, others []*results.Measurement) error {
	o := others[0]
	if o.Received != m.Sent || o.Lost != 0 || o.Duplicated != 0 || o.Reordered != 0 {
		return fmt.Errorf("the client sent %d messages in the window, the server received %d: %d lost, %d twice, %d late, and none may be",
			m.Sent, o.Received, o.Lost, o.Duplicated, o.Reordered)
	}
	if err := streamAccount(p, m, o); err != nil {
		return err
	}
	m.Received, m.Lost, m.Duplicated, m.Reordered = o.Received, 0, 0, 0
	m.Ops, m.Messages, m.PayloadBytes, m.WindowNs = o.Received, o.Received, o.PayloadBytes, o.WindowNs
	m.Latency, m.Service, m.LatencyKind, m.Thirds = o.Latency, o.Service, o.LatencyKind, o.Thirds
	m.Series.Received, m.Series.RSS = o.Series.Received, o.Series.RSS
	return routed(p, m)
}

// streamAccount checks what both sides of a stream say.
func streamAccount(p Params, m, o *results.Measurement) error {
	kind := ""
	if p.Rate > 0 {
		kind = results.OneWay
	}
	if err := words(m, results.Open, ""); err != nil {
		return fmt.Errorf("the client %w", err)
	}
	if o.LatencyKind != kind {
		return fmt.Errorf("the server measured the latency %q, want %q", o.LatencyKind, kind)
	}
	turns, err := turnsOf(p, o)
	if err == nil && turns != o.Received {
		err = fmt.Errorf("%d messages in the three thirds of the window of %d received", turns, o.Received)
	}
	if err == nil && o.PayloadBytes != o.Received*int64(p.Payload) {
		err = fmt.Errorf("%d B of payload in %d messages of %d B", o.PayloadBytes, o.Received, p.Payload)
	}
	if err == nil && (o.WindowNs > m.WindowNs || o.WindowNs < planned(p)) {
		err = fmt.Errorf("a window of %d ns, want %d ns at least, and at most the %d ns after which the client had all its answers",
			o.WindowNs, planned(p), m.WindowNs)
	}
	if err == nil {
		err = counted(o.Received, "messages received", timed{"latencies", o.Latency, p.Rate > 0}, timed{"service times", o.Service, p.Rate > 0})
	}
	if err == nil {
		err = longest(o.WindowNs, o.Latency, o.Service)
	}
	if err == nil && (o.Series == nil || o.Series.StepNs != seriesStep) {
		err = fmt.Errorf("no series of steps of %d ns", seriesStep)
	}
	if err == nil {
		err = steps("received", o.Series.Received, o.Received, o.WindowNs)
	}
	if err != nil {
		return fmt.Errorf("the server: %w", err)
	}
	err = counted(m.Sent, "messages sent", timed{"values of its own lateness", m.Lateness, p.Rate > 0})
	if err == nil && (m.Series == nil || m.Series.StepNs != seriesStep) {
		err = fmt.Errorf("no series of steps of %d ns", seriesStep)
	}
	if err == nil {
		err = steps("sent", m.Series.Sent, m.Sent, m.WindowNs)
	}
	if err != nil {
		return fmt.Errorf("the client: %w", err)
	}
	return nil
}

// routed holds what a process in the middle has counted against both ends: in sum, and at the end of each step. A message is
// counted there before it is counted as received. The sender counts so many at a time, after they were sent.
func routed(p Params, m *results.Measurement) error {
	if m.Series == nil || m.Series.Routed == nil {
		return nil
	}
	channels := int64(max(p.Channels, 1))
	late := channels * timedEvery(p, share(p.Count, 0, int(channels)))
	var sent, through, received int64
	for i, n := range m.Series.Routed {
		through += n
		if i < len(m.Series.Received) {
			received += m.Series.Received[i]
		}
		if received > through {
			return fmt.Errorf("%d messages were received by the end of step %d, but the router had forwarded %d", received, i+1, through)
		}
		if i >= len(m.Series.Sent) || i == len(m.Series.Routed)-1 { // the router's last step has all that came later
			continue
		}
		sent += m.Series.Sent[i]
		if through > sent+late+channels {
			return fmt.Errorf("the router had forwarded %d messages by the end of step %d, but %d were sent", through, i+1, sent)
		}
	}
	if through != m.Sent+channels {
		return fmt.Errorf("the client sent %d messages in the window and one to end each of %d channels, the router forwarded %d", m.Sent, channels, through)
	}
	return nil
}
