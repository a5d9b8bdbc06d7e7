package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"msgbench/bench/areg"
	"msgbench/measure"
	"msgbench/results"
)

// aregSampler is the Sampler of the real areg-sdk, whose programs know nothing of workers: they are started with flags of
// their own, and what they have measured is in a file. Folder, placement and janitor are those of the workers.
type aregSampler struct {
	*Workers   // of all other cells
	stage      *areg.Stage
	clockError int64                    // of one-way latencies, in ns
	period     map[string]time.Duration // of the loop, by cell, in its last sample
}

var (
	_ Sampler = (*aregSampler)(nil)
	_ Stepper = (*aregSampler)(nil)
)

// WithAreg is a Sampler that gives the cells of areg-sdk to its programs and all others to the workers.
func (w *Workers) WithAreg(i areg.Install) (Sampler, error) {
	stage, err := areg.NewStage(i, filepath.Join(w.dir, areg.Name))
	if err != nil {
		return nil, err
	}
	step, cost := measure.Resolution(clockReadings)
	return &aregSampler{Workers: w, stage: stage, clockError: step + cost, period: map[string]time.Duration{}}, nil
}

// clockReadings is how often the clock is read to learn its step and its cost.
const clockReadings = 10_000

// Sample starts the programs of a cell, waits for the file of its one window, and reads it.
func (a *aregSampler) Sample(ctx context.Context, cell results.Cell) (results.Sample, error) {
	if cell.Transport != areg.Name {
		return a.Workers.Sample(ctx, cell)
	}
	s := results.Sample{Cell: cell.Key(), Started: time.Now().UTC(), Placement: map[string]results.Placement{}}
	begun := measure.Now()
	placed, err := Place(a.plan, a.topology, cell)
	if err != nil {
		return s, err
	}
	e := &aregExecution{a: a, cell: cell, placed: placed, sample: &s, result: make(chan struct{})}
	runErr := e.run(ctx)
	endErr := e.end(runErr)
	s.WallNs = measure.Now() - begun
	if ctx.Err() != nil {
		return s, ctx.Err()
	}
	if endErr != nil { // the janitor is gone
		return s, endErr
	}
	if runErr == nil {
		runErr = a.measured(e)
	}
	if runErr != nil {
		s.Outcome, s.Measurement = results.Failed, nil
		s.Reason = oneLine(runErr.Error())
		s.Stderr = e.said()
		return s, nil
	}
	judge(&s, cell, a.policy)
	return s, nil
}

// measured reads what the consumer has written.
func (a *aregSampler) measured(e *aregExecution) error {
	f, err := os.Open(a.stage.Samples())
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("the consumer has written no samples: %s", e.consumer.last())
	}
	if err != nil {
		return err
	}
	defer f.Close()
	read, err := areg.ReadSamples(f, areg.Mode(e.cell))
	if err != nil {
		return err
	}
	m := read.Measurement(e.cell, a.clockError, a.policy.Count > 0)
	m.WarmupOps, m.CPUNs = e.warmup, e.cpuTime()
	name, value, _ := strings.Cut(results.ProcessCPU, "=")
	m.Facts = map[string]string{"areg-sdk": a.stage.Version, name: value}
	if read.Step > 1 {
		m.Facts["step_ns"] = fmt.Sprint(read.Step)
	}
	if want := a.policy.Count; want > 0 && m.Ops != want {
		return fmt.Errorf("the consumer measured %d operations, asked for %d", m.Ops, want)
	}
	if err := join(m, nil); err != nil {
		return err
	}
	if err := asked(m, e.cell, a.policy); err != nil {
		return err
	}
	a.period[e.cell.Key()] = time.Duration(m.WindowNs / m.Ops)
	e.sample.Measurement = m
	return nil
}

// firstPeriod is how long an operation is taken to last before the cell has been measured.
const firstPeriod = 50 * time.Microsecond

// warmupTurns turns the warm-up, which is a time at least and a number at least, into the number that the consumer takes.
func (a *aregSampler) warmupTurns(cell results.Cell) int64 {
	if a.policy.WarmupOps > 0 {
		return a.policy.WarmupOps
	}
	period, ok := a.period[cell.Key()]
	if !ok {
		period = firstPeriod
	}
	period = max(period, 1)
	n := max(WarmupOps, int64(time.Duration(a.policy.Warmup)/period)+1)
	return max(min(n, int64(MaxWarmup/period)), 1)
}

// longestRun is how long the consumer may take from its start to its result.
func (a *aregSampler) longestRun(cell results.Cell) time.Duration {
	return a.limits.ready + a.warmupMax() + a.longest(cell) + a.limits.grace
}
