package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/perf/benchmath"
)

// The answers to whether two sides are equal.
const (
	undecided = "undecided"
	equal     = "equal"
	differs   = "differs"
	notShown  = "not shown"
)

// level is that of the interval of the median ratio.
const level = 0.90

// looks are the numbers of pairs at which a comparison may end, before the last.
var looks = []int{10, 15, 20, 30, 40, 50}

// comparison is two sides that measure the same, and the ratios of their figures so far.
type comparison struct {
	name, a, b   string
	limit        float64 // equal: the interval of the median ratio lies within 1 ± limit
	sideA, sideB func(context.Context) (float64, error)
	ratios       []float64
	meansA       []float64
	meansB       []float64
}

// pair measures both sides, in an order that alternates.
func (c *comparison) pair(ctx context.Context, round int) error {
	var a, b float64
	first := func() (err error) { a, err = c.sideA(ctx); return }
	second := func() (err error) { b, err = c.sideB(ctx); return }
	if round%2 == 1 {
		first, second = second, first
	}
	if err := first(); err != nil {
		return err
	}
	if err := second(); err != nil {
		return err
	}
	if !(a > 0 && b > 0) {
		return fmt.Errorf("%s: %g ns, %s: %g ns: want more than 0", c.a, a, c.b, b)
	}
	c.meansA, c.meansB, c.ratios = append(c.meansA, a), append(c.meansB, b), append(c.ratios, a/b)
	return nil
}

// interval is the median of the ratios and its interval, by order statistics.
func interval(ratios []float64) (median, lo, hi float64) {
	s := benchmath.AssumeNothing.Summary(benchmath.NewSample(slices.Clone(ratios), &benchmath.DefaultThresholds), level)
	return s.Center, s.Lo, s.Hi
}

// answer judges the ratios, at the looks and after the last pair only.
func (c *comparison) answer(maxPairs int) string {
	n := len(c.ratios)
	if n < maxPairs && !slices.Contains(looks, n) {
		return undecided
	}
	_, lo, hi := interval(c.ratios)
	switch {
	case lo >= 1-c.limit && hi <= 1+c.limit:
		return equal
	case hi < 1-c.limit || lo > 1+c.limit:
		return differs
	case n >= maxPairs:
		return notShown
	}
	return undecided
}

// table is the result in markdown.
func table(all []*comparison, maxPairs int) string {
	var b strings.Builder
	b.WriteString("| what | beside | pairs | µs, medians | ratio | interval | within | answer |\n|---|---|---|---|---|---|---|---|\n")
	for _, c := range all {
		if len(c.ratios) == 0 {
			continue
		}
		median, lo, hi := interval(c.ratios)
		ma, _, _ := interval(c.meansA)
		mb, _, _ := interval(c.meansB)
		fmt.Fprintf(&b, "| %s | %s | %d | %.2f : %.2f | %.3f | %.3f – %.3f | ± %.0f %% | %s |\n",
			c.a, c.b, len(c.ratios), ma/1e3, mb/1e3, median, lo, hi, 100*c.limit, c.answer(maxPairs))
	}
	return b.String()
}
