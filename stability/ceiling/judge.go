package ceiling

import (
	"fmt"
	"math"
	"time"

	"msgbench/results"
)

// resolution is how exactly the counts of two processes can be laid side by side, in seconds: a backlog of what is offered in so
// little time is none. With it, a growth of less than about 0.02 % of the offer is not seen in 5 s.
const resolution = 0.001

// Judge tells whether one measured try at a rate (messages per second, in all channels) holds, and if not, why. It holds if at
// least that share of the offer was delivered, nothing was lost, and the slope of the backlog has an interval that contains 0.
// That the schedule was kept, the caller has checked.
func Judge(rate int, m *results.Measurement, share float64) (step results.Step, reason string) {
	step.Rate = rate
	line := Line{}
	if m.Series != nil && m.Series.StepNs > 0 {
		backlog := m.Series.Backlog()
		full := min(int(m.WindowNs/m.Series.StepNs), len(backlog))
		line = Fit(backlog[:full], time.Duration(m.Series.StepNs).Seconds(), resolution*float64(rate))
	}
	if !math.IsInf(line.Hi, 1) { // JSON has no infinity
		step.Slope, step.SlopeLo, step.SlopeHi = line.Slope, line.Lo, line.Hi
	}
	delivered := m.MessagesPerSecond() / float64(rate)
	switch missing := m.Sent - m.Received; {
	case delivered < share:
		reason = fmt.Sprintf("delivered %.4f of the offer", delivered)
	case missing != 0 || m.Lost != 0:
		reason = fmt.Sprintf("lost %d of %d messages", max(missing, m.Lost), m.Sent)
	case !line.Flat():
		reason = fmt.Sprintf("the backlog changes by %.4g messages/s (95 %% interval %.4g to %.4g)", line.Slope, line.Lo, line.Hi)
	}
	step.Holds = reason == ""
	return step, reason
}
