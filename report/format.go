// Package report turns rows into text: pure functions of files, the same bytes every time.
package report

import (
	"fmt"
	"math"
	"strconv"

	"msgbench/report/internal/plain"
	"msgbench/results"
)

// count is a rate or a number for people: 2.48M, 65.3k, 998.
func count(n results.Num) string {
	v, ok := n.Value()
	switch {
	case !ok:
		return ""
	case v >= 999_950:
		return fixed(v/1e6, 2) + "M"
	case v >= 999.5:
		return fixed(v/1e3, 1) + "k"
	}
	return fixed(v, 0)
}

// micros is a duration in µs with the digits that matter to people.
func micros(n results.Num) string {
	v, ok := n.Value()
	switch {
	case !ok:
		return ""
	case v < 9.995:
		return fixed(v, 2)
	case v < 99.95:
		return fixed(v, 1)
	}
	return fixed(v, 0)
}

// exact is a number with d decimals.
func exact(n results.Num, d int) string {
	v, ok := n.Value()
	if !ok {
		return ""
	}
	return fixed(v, d)
}

func fixed(v float64, decimals int) string { return strconv.FormatFloat(v, 'f', decimals, 64) }

// cpu is a CPU column with d decimals: an upper bound where that is what the row has.
func cpu(r *results.Row, n results.Num, d int) string {
	s := exact(n, d)
	if s != "" && r.OfProcesses() {
		return "≤ " + s
	}
	return s
}

// span is "low – high"; empty where either is missing.
func span(lo, hi results.Num, f func(results.Num) string) string {
	if !lo.OK() || !hi.OK() {
		return ""
	}
	return f(lo) + " – " + f(hi)
}

// mark puts "~" before the name of a row that is not to be relied on.
func mark(r *results.Row, s string) string {
	if r.Verdict == results.Unstable {
		return "~ " + s
	}
	return s
}

// plural is "1 cell", "2 cells".
func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// oneLine keeps text from another machine from ending a line, a table cell or an HTML comment of ours, and from turning
// the direction of what follows.
func oneLine(s string) string { return plain.OneLine(s) }

// orText is s, or other where s is empty.
func orText(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// verdictText is the verdict of a row, and how its metric drifts over the rounds where that is more than noise.
func verdictText(r *results.Row) string {
	if r.Trend == "" {
		return r.Verdict
	}
	text := r.Verdict + ", " + r.Trend
	if v, ok := r.DriftPct.Value(); ok {
		text += fmt.Sprintf(" %.3g %%", math.Abs(v))
	}
	return text
}
