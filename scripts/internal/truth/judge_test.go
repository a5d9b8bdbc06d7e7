package main

import (
	"context"
	"strings"
	"testing"
)

func TestAnswer(t *testing.T) {
	ratios := func(n int, values ...float64) []float64 {
		var out []float64
		for i := range n {
			out = append(out, values[i%len(values)])
		}
		return out
	}
	for _, test := range []struct {
		name   string
		ratios []float64
		want   string
	}{
		{"too few", ratios(9, 1), undecided},
		{"equal at the first look", ratios(10, 0.99, 1.01, 1), equal},
		{"no look at 11", ratios(11, 1), undecided},
		{"clearly slower", ratios(10, 1.2, 1.1, 1.3), differs},
		{"clearly faster", ratios(15, 0.7, 0.8), differs},
		{"wide", ratios(10, 0.8, 1.2), undecided},
		{"wide to the end", ratios(60, 0.8, 1.2), notShown},
		{"on the border to the end", ratios(60, 1.049, 1.051), notShown},
		{"equal at the end", ratios(60, 0.97, 1.04), equal},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := &comparison{limit: 0.05, ratios: test.ratios}
			if got := c.answer(60); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}

func TestPair(t *testing.T) {
	var order []string
	side := func(name string, v float64) func(context.Context) (float64, error) {
		return func(context.Context) (float64, error) { order = append(order, name); return v, nil }
	}
	c := &comparison{sideA: side("a", 300), sideB: side("b", 200)}
	for round := range 2 {
		if err := c.pair(t.Context(), round); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Join(order, ""); got != "abba" {
		t.Errorf("order %s, want abba", got)
	}
	if c.ratios[0] != 1.5 || c.ratios[1] != 1.5 {
		t.Errorf("ratios %v, want 1.5 twice", c.ratios)
	}
	c.sideB = side("b", 0)
	if err := c.pair(t.Context(), 0); err == nil {
		t.Error("a side of 0 ns was taken")
	}
}
