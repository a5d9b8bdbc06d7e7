package bench

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"msgbench/bench/areg"
	"msgbench/results"
	"msgbench/stability"
)

// overhead is about what a sample costs outside warm-up and window: starting and ending processes.
const overhead = 80 * time.Millisecond

// aregOverhead is the same for areg-sdk's programs: the consumer looks four times a second whether it may end.
const aregOverhead = 400 * time.Millisecond

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
	apart := overhead
	if c.Transport == areg.Name {
		apart = aregOverhead
	}
	if p.Count > 0 {
		return apart + warmup + countTime(p.Count, c.Rate)
	}
	return apart + warmup + Window(p, c)
}

// countTime is about how long so many operations take. At max nobody knows; a slow transport stands for all.
func countTime(n int64, rate int) time.Duration {
	if rate == 0 {
		rate = 20_000
	}
	return time.Duration(n) * time.Second / time.Duration(rate)
}

// RunTime is about how long all samples of the cells take at least, with the calibration of each round, without reruns: those
// that come before the policy looks whether they are precise enough.
func RunTime(p results.Policy, cells []results.Cell) time.Duration {
	least, _ := SampleCounts(p)
	return timeOf(p, cells, least)
}

// MaxRunTime is about how long they take at most.
func MaxRunTime(p results.Policy, cells []results.Cell) time.Duration {
	_, most := SampleCounts(p)
	d := timeOf(p, cells, most)
	if p.Precision > 0 && p.MaxTime > 0 {
		d = max(min(d, time.Duration(p.MaxTime)), RunTime(p, cells))
	}
	return d
}

// DisturbedTime is about how long it takes to measure disturbed samples again, at most.
func DisturbedTime(p results.Policy, cells []results.Cell) time.Duration {
	if p.MaxInterference == 0 {
		return 0
	}
	return time.Duration(p.Budget * float64(MaxRunTime(p, cells)))
}

// SampleCounts is how many samples a cell gets at least and at most in an attempt.
func SampleCounts(p results.Policy) (least, most int) {
	looks := stability.Looks(p)
	return looks[0], looks[len(looks)-1]
}

func timeOf(p results.Policy, cells []results.Cell, rounds int) time.Duration {
	d := calibrations(p, cells)
	for _, c := range cells {
		d += SampleTime(p, c)
	}
	return d * time.Duration(rounds)
}

// CheckPolicy says where the parts of a policy don't go together.
func CheckPolicy(p results.Policy) error {
	switch {
	case p.Precision == 0 && p.MaxTime > 0:
		return errors.New("max-time goes with precision: without it the number of samples is fixed (--precision 3%)")
	case len(stability.Looks(p)) == 0:
		return fmt.Errorf("samples %d is more than the 28 that a precision takes: leave one of them out", p.Samples)
	}
	return nil
}
