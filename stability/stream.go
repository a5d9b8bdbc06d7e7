package stability

import (
	"fmt"
	"math"
	"slices"

	"msgbench/results"
	"msgbench/stability/ceiling"
)

// minSustained is how many full seconds a window needs to tell a sustained rate.
const minSustained = 30

// minSlope is how many sizes, a second apart, tell a slope.
const minSlope = 3

// streams fills the columns of one-way streams: the best full second of all samples; the median of all full seconds, if
// every window is long enough to tell; the median slope of the receiver's resident size.
func streams(row *results.Row, samples []sample) {
	var all, routed []float64
	var slopes []float64
	sustained := true
	for _, s := range samples {
		m := s.Measurement
		seconds := m.Series.Seconds(m.WindowNs)
		sustained = sustained && len(seconds) >= minSustained
		for _, n := range seconds {
			all = append(all, float64(n))
		}
		for _, n := range m.Series.RoutedSeconds(m.WindowNs) {
			routed = append(routed, float64(n))
		}
		if m.Series != nil && len(m.Series.RSS) >= minSlope {
			sizes := make([]float64, len(m.Series.RSS))
			for i, b := range m.Series.RSS {
				sizes[i] = float64(b)
			}
			slopes = append(slopes, ceiling.Fit(sizes, 1, 0).Slope/1e6)
		}
	}
	row.RSSSlope = results.N(median(slopes))
	if len(all) == 0 {
		return
	}
	bytes := median(of(samples, func(m *results.Measurement) float64 { return float64(m.PayloadBytes) / float64(m.Messages) }))
	row.PeakPerS = results.N(slices.Max(all))
	row.PeakMBPerS = results.N(slices.Max(all) * bytes / 1e6)
	if len(routed) > 0 {
		row.RoutedPeak = results.N(slices.Max(routed))
	}
	if sustained {
		row.RoutedSteady = results.N(median(routed))
		row.Sustained = results.N(median(all))
		row.SustainedMB = results.N(median(all) * bytes / 1e6)
	}
}

// ceilings fills the result of the search for the highest stable rate from its steps.
func ceilings(row *results.Row, steps []*placed) {
	held, failed := ceiling.Result(stepsOf(steps))
	row.Ceiling, row.CeilingFails = known(held), known(failed)
}

func stepsOf(steps []*placed) []results.Step {
	v := make([]results.Step, len(steps))
	for i, s := range steps {
		v[i] = *s.step
	}
	return v
}

func known(rate int) results.Num {
	if rate == 0 {
		return results.N(math.NaN())
	}
	return results.N(float64(rate))
}

// ceilingNote tells what the search found, and why the rate above did not hold.
func ceilingNote(j judged) []Note {
	if len(j.steps) == 0 {
		return nil
	}
	held, failed := ceiling.Result(stepsOf(j.steps))
	rates := map[int]bool{}
	reason := ""
	var deciding []*placed
	for _, s := range j.steps {
		rates[s.step.Rate] = true
		if s.step.Rate == held || s.step.Rate == failed {
			deciding = append(deciding, s)
		}
		if s.step.Rate == failed && !s.step.Holds {
			reason = oneLine(s.reason)
		}
	}
	text := "no rate held"
	if held > 0 {
		text = fmt.Sprintf("%s/s held", rateText(float64(held)))
	}
	switch {
	case failed > 0:
		text += fmt.Sprintf(", %s/s did not (%s)", rateText(float64(failed)), reason)
	default:
		text += ", none was found that does not"
	}
	text += fmt.Sprintf("; %d rates in %d tries", len(rates), len(j.steps))
	return []Note{{Kind: NoteCeiling, Text: text, At: places(deciding)}}
}
