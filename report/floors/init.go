package floors

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"msgbench/report/internal/plain"
	"msgbench/report/source"
	"msgbench/results"
)

// Init writes a floors file from a run: a floor for each row that can be relied on, margin (0.2 is 20 %) below the lower
// bound of its throughput at max, or above the upper bound of its median service time at a fixed rate. Rows that can't be
// relied on are named in comments.
func Init(set source.Set, margin float64) ([]byte, error) {
	if err := set.Unique(); err != nil {
		return nil, err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# Floors from %s, %s %% beyond the interval of each row.\n", quoted(plain.OneLine(set.Path)), decimal(margin*100))
	if m := set.Fact("machine"); m != "" {
		fmt.Fprintf(&b, "# Measured on: %s. Absolute floors hold for one machine.\n", plain.OneLine(m))
	}
	b.WriteString("floors:\n")
	c := checker{&set}
	n := 0
	for i := range set.Cells {
		cell := &set.Cells[i]
		f := Floor{Metric: initMetric(&cell.Row)}
		if _, why := unusable(&cell.Row, f.Metric); why != "" {
			fmt.Fprintf(&b, "  # left out: %s: %s\n", plain.OneLine(cell.Row.Cell), plain.OneLine(why))
			continue
		}
		r := CellResult{}
		if why := c.absolute(&r, f, cell); why != "" {
			r.Lo, r.Hi = r.Value, r.Value // then from the figure itself
		}
		limit, v := "min", rounded(r.Lo*(1-margin), math.Floor)
		if f.Metric != "throughput" && f.Metric != "messages_per_s" {
			limit, v = "max", rounded(r.Hi*(1+margin), math.Ceil)
		}
		key := quoted(cell.Row.Cell)
		fmt.Fprintf(&b, "  - name: %s\n    cell: %s\n    metric: %s\n    %s: %s\n", key, key, f.Metric, limit, decimal(v))
		n++
	}
	if n == 0 {
		return nil, errors.New("no row of the run can be relied on: there is nothing to make floors from")
	}
	return []byte(b.String()), nil
}

// quoted is a text as YAML reads it, in double quotes.
func quoted(s string) string { return strconv.Quote(s) }

// InitColumns are those that the set of Init must have been loaded with.
var InitColumns = []string{"throughput", "svc_p50_us", "p50_us"}

func initMetric(r *results.Row) string {
	switch {
	case r.TargetRPS == "max" && r.Scenario == "broadcast" && r.Lost.Or(0) > 0:
		return "messages_per_s" // who drops more publishes more
	case r.TargetRPS == "max":
		return "throughput"
	case r.SvcP50Us.OK():
		return "svc_p50_us"
	case r.P50Us.OK():
		return "p50_us"
	}
	return "throughput"
}

// rounded keeps three digits, rounded away from the figure, so that people can read it.
func rounded(v float64, round func(float64) float64) float64 {
	if !(v > 0) {
		return 0
	}
	unit := math.Pow(10, math.Floor(math.Log10(v))-2)
	if unit < 1 {
		inverse := math.Round(1 / unit)
		return round(v*inverse) / inverse
	}
	return round(v/unit) * unit
}
