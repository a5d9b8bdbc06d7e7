package stability

import (
	"math"

	"msgbench/results"
)

// What an Outlook expects of a cell. They are no verdicts: those are drawn after the run, over all cells.
const (
	TooFew = "too few" // samples for a core
	Holds  = "holds"   // the core is within the limit
	Loose  = "loose"   // the core's max/min is above the limit
	Behind = "behind"  // a fixed rate was not delivered
)

// Outlook is what the valid samples of one attempt of a cell let expect while a run goes on. It keeps two numbers a sample.
// The zero value is ready.
type Outlook struct {
	metric    []float64 // p50 of the service time in ns at a fixed rate, else operations per second
	delivered []float64 // in the unit of the target rate
}

// Add counts a valid sample of the cell.
func (o *Outlook) Add(c results.Cell, m *results.Measurement) {
	one := []*placed{place(&results.Sample{Measurement: m})}
	values, _ := metric(c, one)
	o.metric = append(o.metric, values[0])
	o.delivered = append(o.delivered, delivered(c, one)[0])
}

// Samples is how many were added.
func (o *Outlook) Samples() int { return len(o.metric) }

// Word is TooFew, Holds, Loose or Behind by the samples so far, and the core's max/min (NaN while there is no core).
func (o *Outlook) Word(p results.Policy, c results.Cell) (word string, ratio float64) {
	core := coreOf(o.metric, p)
	switch {
	case core.n < max(p.MinCore, 1):
		return TooFew, math.NaN()
	case c.Rate != 0 && median(o.delivered) < p.MinDelivered*float64(c.Rate)*(1-slack):
		return Behind, core.ratio
	case core.holds:
		return Holds, core.ratio
	}
	return Loose, core.ratio
}
