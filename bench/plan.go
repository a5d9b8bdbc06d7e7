package bench

import (
	"math/rand/v2"
	"time"

	"msgbench/results"
)

// overhead is about what a sample costs outside warm-up and window: starting and ending processes.
const overhead = 80 * time.Millisecond

// Round is the order of so many units in one round: random, but the same for the same seed and round. See Order.
func Round(seed uint64, round, cells int) []int {
	return rand.New(rand.NewPCG(seed, uint64(round))).Perm(cells)
}

// SampleTime is about how long one sample of a cell takes.
func SampleTime(p results.Policy, c results.Cell) time.Duration {
	warmup := time.Duration(p.Warmup)
	if c.Rate > 0 {
		warmup = max(warmup, WarmupOps*time.Second/time.Duration(c.Rate))
	}
	warmup = min(warmup, MaxWarmup)
	if p.WarmupOps > 0 {
		warmup = countTime(p.WarmupOps, c.Rate)
	}
	if p.Count > 0 {
		return overhead + warmup + countTime(p.Count, c.Rate)
	}
	return overhead + warmup + Window(p, c)
}

// countTime is about how long so many operations take. At max nobody knows; a slow transport stands for all.
func countTime(n int64, rate int) time.Duration {
	if rate == 0 {
		rate = 20_000
	}
	return time.Duration(n) * time.Second / time.Duration(rate)
}

// RunTime is about how long all samples of the cells take, without reruns.
func RunTime(p results.Policy, cells []results.Cell) time.Duration {
	var d time.Duration
	for _, c := range cells {
		d += SampleTime(p, c)
	}
	return d * time.Duration(p.Samples)
}
