package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"msgbench/bench"
	"msgbench/machine"
	"msgbench/results"
)

// defaultPin is the plan of a run without --pin.
const defaultPin = "default"

// describeRun is run.json: what was asked for, and where.
func describeRun(ctx context.Context, c chosen) (results.Run, error) {
	env := machine.Describe(ctx, machine.Options{StealOver: 200 * time.Millisecond, Topology: &c.topology})
	data, err := json.Marshal(env)
	if err != nil {
		return results.Run{}, err
	}
	r := results.Run{
		Version: results.FormatVersion, Created: time.Now().UTC().Truncate(time.Second), Msgbench: env.Msgbench,
		CommandLine: append([]string{"msgbench"}, os.Args[1:]...), Suite: c.suite.Name, Seed: c.seed, Pin: c.plan.String(),
		Policy: c.policy, Cells: c.cells, Machine: c.machine(env.Name()), Boot: machine.Boot(), Installation: machine.Installation(),
		Environment: data, AB: c.ab,
	}
	if c.host != nil {
		r.Server = &c.host.ServerHost
	}
	if r.Build, err = machine.Build(); err != nil {
		return r, err
	}
	if r.Programs, err = programsOf(c); err != nil {
		return r, err
	}
	if r.Pin == "" {
		r.Pin = defaultPin
	}
	r.Facts = runFacts(r, env, c)
	return r, nil
}

// runFacts is the head of the CSV and of the report: what a reader needs to judge the figures.
func runFacts(r results.Run, env machine.Environment, c chosen) []results.Fact {
	p := r.Policy
	facts := []results.Fact{
		{Key: "machine", Value: r.Machine},
		{Key: "date", Value: r.Created.Format(time.RFC3339)},
		{Key: "msgbench", Value: r.Msgbench},
		{Key: "go", Value: env.Go},
		{Key: "distribution", Value: env.Distribution},
		{Key: "kernel", Value: env.Kernel},
		{Key: "cpu", Value: env.CPU.Model},
		{Key: "topology", Value: env.CPU.Topology},
		{Key: "memory", Value: env.Memory.Type},
		{Key: "allowed CPUs", Value: env.CPU.Allowed},
		{Key: "governor", Value: env.CPU.Governor},
		{Key: "turbo", Value: env.CPU.Turbo},
		{Key: "isolated CPUs", Value: env.CPU.Isolated},
		{Key: "hypervisor", Value: env.Hypervisor},
		{Key: "container", Value: env.Container},
		{Key: "session", Value: env.Session},
		{Key: "clock", Value: fmt.Sprintf("CLOCK_MONOTONIC, source %s, step %d ns, reading %d ns", orUnknown(env.Clock.Source),
			env.Clock.ResolutionNs, env.Clock.CostNs)},
		{Key: "steal before the run", Value: share(env.Steal)},
		{Key: "busy before the run", Value: share(env.Busy)},
		{Key: "suite", Value: r.Suite},
		{Key: "seed", Value: fmt.Sprint(r.Seed)},
		{Key: "placement", Value: placementText(c)},
		{Key: "scheduling", Value: schedulingText(p)},
		{Key: "policy", Value: fmt.Sprintf("%s, %s at a fixed rate, %s at max, warm-up from %s; core: %g of the samples dropped at "+
			"each end, at least %d left, max/min at most %g; delivered at least %g; ramp within a window at most %g; %d rerun%s",
			samplesText(p), p.Duration, p.MaxDuration, p.Warmup, p.Trim, p.MinCore, p.CoreRatio, p.MinDelivered, p.MaxRamp, p.Reruns, interferenceText(p))},
		{Key: "order", Value: orderText(p)},
		{Key: "interval", Value: intervalText(p)},
		{Key: "command", Value: strings.Join(r.CommandLine, " ")},
	}
	facts = append(facts, abFacts(c.ab)...)
	facts = slices.Insert(facts, 1, c.hostFacts()...)
	known := facts[:0]
	for _, f := range facts {
		if f.Value != "" {
			known = append(known, f)
		}
	}
	return known
}

// schedulingText says how workers are scheduled and held in memory; empty where that is as usual.
func schedulingText(p results.Policy) string {
	var parts []string
	if p.RT > 0 {
		parts = append(parts, fmt.Sprintf("workers under SCHED_FIFO at priority %d", p.RT))
	}
	if p.Mlock {
		parts = append(parts, "workers' memory locked (rss_bytes holds what they reserve too)")
	}
	return strings.Join(parts, "; ")
}

// orderText says in which order the cells of a round were measured; empty where that is random.
func orderText(p results.Policy) string {
	if p.Order == results.OrderPage {
		return "that of the page in every round: scenario and transport, rate (max first), server, client"
	}
	return ""
}

// samplesText is how many samples a cell gets.
func samplesText(p results.Policy) string {
	least, most := bench.SampleCounts(p)
	if p.Precision == 0 {
		return fmt.Sprintf("%d samples a cell", least)
	}
	text := fmt.Sprintf("%d to %d samples a cell until throughput and p50 are within ±%g %% at 95 %%", least, most, 100*p.Precision)
	if p.MaxTime > 0 {
		text += fmt.Sprintf(" or more would take the run beyond %s", p.MaxTime)
	}
	return text
}

// intervalText says what the _lo and _hi columns are.
func intervalText(p results.Policy) string {
	least, _ := bench.SampleCounts(p)
	switch {
	case p.Precision > 0:
		return "95 % for the median in spite of all looks, by order statistics at 99 % (96.9 % with 6 samples)"
	case least < 5:
		return "none below 5 samples"
	case least == 5:
		return "min and max of 5 samples (93.75 % for the median)"
	}
	return "95 % for the median, by order statistics"
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

// share is a part of the CPU time in per cent; empty where it is not known.
func share(v *float64) string {
	if v == nil {
		return ""
	}
	return fmt.Sprintf("%.1f %%", *v*100)
}

// interferenceText is what the policy says of disturbed samples and of calibrations.
func interferenceText(p results.Policy) string {
	text := ""
	if p.MaxInterference > 0 {
		text = fmt.Sprintf("; steal and other processes at most %g %% of a sample's CPUs, else measured again, up to %g %% of all samples",
			100*p.MaxInterference, 100*p.Budget)
	}
	if p.Calibrate {
		text += "; each round calibrated"
	}
	return text
}
