package bench

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"msgbench/pinning"
	"msgbench/results"
)

// Setting is one part of the stability policy: a key of a suite file and a flag of `run` by the same name.
type Setting struct {
	Name  string
	Usage string
	Set   func(*results.Policy, string) error
}

// Settings are all parts of the policy.
var Settings = []Setting{
	{"samples", "samples a cell gets (integer, 1 to 1000)",
		setInt(1, 1000, func(p *results.Policy) *int { return &p.Samples })},
	{"precision", "more samples, up to 28, until the 95 % intervals of the median throughput and of p50 are within so much of it " +
		"(like 3%, 0.1% to 50%)", setPrecision},
	{"max-time", "with a precision: no more samples that would take the run beyond this (like 20m, 1s to 720h)",
		setDuration(time.Second, 720*time.Hour, func(p *results.Policy) *results.Duration { return &p.MaxTime })},
	{"order", "order of the cells within a round: random, or page for that of netdata/plugin-ipc's page (scenario, transport, rate, server, client)", setOrder},
	{"duration", "window of a sample at a fixed rate (like 5s, 10ms to 1h)",
		setDuration(10*time.Millisecond, time.Hour, func(p *results.Policy) *results.Duration { return &p.Duration })},
	{"max-duration", "window of a sample at max rate (like 20s, 10ms to 1h)",
		setDuration(10*time.Millisecond, time.Hour, func(p *results.Policy) *results.Duration { return &p.MaxDuration })},
	{"count", "length of each window in operations, instead of its duration; a cycle of pipeline and a block of 1024 lookups count " +
		"as one (1 to 1000000000)", setCount},
	{"warmup", "warm-up before each window: at least so long (like 200ms, 0s to 1s), or so many operations (like 1000)", setWarmup},
	{"trim", "share of the samples dropped at each end to find the stable core (0 to 0.4)",
		setFloat(0, 0.4, func(p *results.Policy) *float64 { return &p.Trim })},
	{"min-core", "samples that the stable core needs (integer, 2 to 1000)",
		setInt(2, 1000, func(p *results.Policy) *int { return &p.MinCore })},
	{"core-ratio", "largest max/min within the stable core (1 to 100)",
		setFloat(1, 100, func(p *results.Policy) *float64 { return &p.CoreRatio })},
	{"min-delivered", "share of the target rate that must be delivered (0 to 1)",
		setFloat(0, 1, func(p *results.Policy) *float64 { return &p.MinDelivered })},
	{"max-ramp", "largest throughput ratio, either way, of a window's last third to its first (1 to 1000)",
		setFloat(1, 1000, func(p *results.Policy) *float64 { return &p.MaxRamp })},
	{"max-interference", "share of its CPUs' time that steal and other processes may take from a sample before it is measured again (like 5%, up to 100%; off)",
		setShare(true, func(p *results.Policy) *float64 { return &p.MaxInterference })},
	{"interference-budget", "how many disturbed samples are measured again, as a share of all samples (like 20%, 0% to 100%)",
		setShare(false, func(p *results.Policy) *float64 { return &p.Budget })},
	{"calibrate", "measure the machine at the start of each round (on or off)", setCalibrate},
	{"rt", "real-time priority (SCHED_FIFO) of the workers (1 to 99; off)", setRT},
	{"mlock", "lock the workers' memory, so that no page of theirs is fetched in a window (on or off)", setMlock},
	{"reruns", "whole reruns of a cell that falls short (0 or 1)",
		setInt(0, 1, func(p *results.Policy) *int { return &p.Reruns })},
	{"ceiling", "search for the highest stable rate of each data-rate cell at max (true or false)", setCeiling},
	{"ceiling-step", "window of one step of that search (like 5s, 100ms to 1h)",
		setDuration(100*time.Millisecond, time.Hour, func(p *results.Policy) *results.Duration { return &p.CeilingStep })},
	{"ceiling-settle", "time at the offered rate before each step (like 1s, 0s to 1s)",
		setDuration(0, MaxWarmup, func(p *results.Policy) *results.Duration { return &p.CeilingSettle })},
}

// MaxWarmup is the longest warm-up, whatever it has not reached by then.
const MaxWarmup = time.Second

// WarmupOps is how many operations a warm-up has at least, if MaxWarmup allows.
const WarmupOps = 1000

// MaxCounted is how long a warm-up or window of a number of operations may take before the sample fails.
const MaxCounted = 10 * time.Minute

func setCount(p *results.Policy, s string) error {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 1 || n > 1e9 {
		return fmt.Errorf("%q is not an integer from 1 to 1000000000", s)
	}
	p.Count = n
	return nil
}

func setWarmup(p *results.Policy, s string) error {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		if n < 1 || n > 1e9 {
			return fmt.Errorf("%q operations: want an integer from 1 to 1000000000", s)
		}
		p.WarmupOps, p.Warmup = n, 0
		return nil
	}
	p.WarmupOps = 0
	return setDuration(0, MaxWarmup, func(p *results.Policy) *results.Duration { return &p.Warmup })(p, s)
}

func setCeiling(p *results.Policy, s string) error {
	v, err := strconv.ParseBool(s)
	if err != nil {
		return fmt.Errorf("%q is neither true nor false", s)
	}
	p.Ceiling = v
	return nil
}

func setRT(p *results.Policy, s string) error {
	if s == "off" {
		p.RT = 0
		return nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < pinning.MinRT || n > pinning.MaxRT {
		return fmt.Errorf("%q is not a priority from %d to %d, nor off", s, pinning.MinRT, pinning.MaxRT)
	}
	p.RT = n
	return nil
}

func setMlock(p *results.Policy, s string) error {
	if s != "on" && s != "off" {
		return fmt.Errorf("%q is neither on nor off", s)
	}
	p.Mlock = s == "on"
	return nil
}

func setCalibrate(p *results.Policy, s string) error {
	if s != "on" && s != "off" {
		return fmt.Errorf("%q is neither on nor off", s)
	}
	p.Calibrate = s == "on"
	return nil
}

// setShare reads per cent; where 0 would mean something else than it says, "off" stands for it.
func setShare(off bool, field func(*results.Policy) *float64) func(*results.Policy, string) error {
	return func(p *results.Policy, s string) error {
		if off && s == "off" {
			*field(p) = 0
			return nil
		}
		number, per := strings.CutSuffix(s, "%")
		v, err := strconv.ParseFloat(number, 64)
		if !per || err != nil || !(v >= 0 && v <= 100) || off && v == 0 {
			return fmt.Errorf("%q is not a share of at most 100%%, like 5%%", s)
		}
		*field(p) = v / 100
		return nil
	}
}

func setOrder(p *results.Policy, s string) error {
	switch s {
	case "random":
		p.Order = ""
	case results.OrderPage:
		p.Order = s
	default:
		return fmt.Errorf("%q is neither random nor page", s)
	}
	return nil
}

func setPrecision(p *results.Policy, s string) error {
	number, per := strings.CutSuffix(s, "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || !per || !(v >= 0.1 && v <= 50) {
		return fmt.Errorf("%q is not a percentage from 0.1%% to 50%%, like 3%%", s)
	}
	p.Precision = v / 100
	return nil
}

func setInt(low, high int, field func(*results.Policy) *int) func(*results.Policy, string) error {
	return func(p *results.Policy, s string) error {
		n, err := strconv.Atoi(s)
		if err != nil || n < low || n > high {
			return fmt.Errorf("%q is not an integer from %d to %d", s, low, high)
		}
		*field(p) = n
		return nil
	}
}

func setFloat(low, high float64, field func(*results.Policy) *float64) func(*results.Policy, string) error {
	return func(p *results.Policy, s string) error {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil || !(v >= low && v <= high) {
			return fmt.Errorf("%q is not a number from %g to %g", s, low, high)
		}
		*field(p) = v
		return nil
	}
}

func setDuration(low, high time.Duration, field func(*results.Policy) *results.Duration) func(*results.Policy, string) error {
	return func(p *results.Policy, s string) error {
		d, err := time.ParseDuration(s)
		if err != nil || d < low || d > high {
			return fmt.Errorf("%q is not a duration from %s to %s, like 500ms", s, low, high)
		}
		*field(p) = results.Duration(d)
		return nil
	}
}
