package stability

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// rateText is a rate for people: 2.48M, 61.2k, 950.
func rateText(v float64) string {
	switch {
	case v >= 1e6:
		return short(v/1e6) + "M"
	case v >= 1e3:
		return short(v/1e3) + "k"
	}
	return short(v)
}

// short has two decimals at most, none that is a trailing zero.
func short(v float64) string {
	s := strconv.FormatFloat(v, 'f', 2, 64)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

// above is "1.52 > 1.35", with as many decimals as it takes to tell the two apart.
func above(ratio, limit float64) string {
	for d := 2; d < 15; d++ {
		if r := strconv.FormatFloat(ratio, 'f', d, 64); parsed(r) != limit {
			return r + " > " + strconv.FormatFloat(limit, 'f', -1, 64)
		}
	}
	return strconv.FormatFloat(ratio, 'g', -1, 64) + " > " + strconv.FormatFloat(limit, 'f', -1, 64)
}

func parsed(s string) float64 {
	v, _ := strconv.ParseFloat(s, 64) // of FormatFloat
	return v
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// joined is the value that all have, or the distinct ones, sorted, with "|" between them; empty ones do not count.
func joined(values []string) string {
	v := slices.DeleteFunc(slices.Clone(values), func(s string) bool { return s == "" })
	slices.Sort(v)
	return strings.Join(slices.Compact(v), "|")
}

// ratioText is a ratio for people.
func ratioText(v float64) string {
	if math.IsInf(v, 0) || math.IsNaN(v) {
		return "none"
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}
