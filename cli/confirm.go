package cli

import (
	"context"
	"errors"
	"slices"

	"msgbench/bench"
	"msgbench/report/floors"
	"msgbench/report/source"
	"msgbench/results"
)

// confirmed measures the cells of broken floors again, in a run of their own by the settings of the first one, and lets that
// run decide.
func (o *checkOptions) confirmed(ctx context.Context, first floors.Report, set source.Set, s streams) (floors.Report, error) {
	keys := first.Broken()
	if len(keys) == 0 {
		return first, nil
	}
	c, err := o.again(ctx, set, keys)
	if err != nil {
		return first, err
	}
	if err := bench.CheckTempDir(); err != nil {
		return first, usage(err)
	}
	dir, err := makeRunDir("")
	if err != nil {
		return first, err
	}
	announce(s.err, c, dir)
	run, err := describeRun(ctx, c)
	if err != nil {
		return first, err
	}
	if err := results.WriteRun(dir, run); err != nil {
		return first, err
	}
	// Its table goes where progress goes: the result of check is the floors.
	to := &runOptions{}
	err = to.measure(ctx, c, run, dir, howRun, nil, streams{in: s.in, out: s.err, err: s.err}, func(sampler bench.Sampler, p bench.Progress) (int, error) {
		return bench.Measure(ctx, dir, run, c.skipReasons(), sampler, p)
	})
	// That rows are unstable or failed is for the floors to judge.
	var e *exitError
	if err != nil && (!errors.As(err, &e) || e.code == exitInterrupted) {
		return first, err
	}
	rerun, err := source.LoadRun(dir, first.Columns()...)
	if err != nil {
		return first, err
	}
	return floors.Confirm(first, rerun)
}

// again is a run of some cells of another run. Fixed rates come with their max cells, which tell whether a rate is too much.
func (o *checkOptions) again(ctx context.Context, set source.Set, keys []string) (chosen, error) {
	run := set.Run
	if len(run.Cells) == 0 {
		return chosen{}, usagef("--confirm: %s is a CSV without its run.json, which tells how to measure its cells again", set.Path)
	}
	c, err := chosenBy(run)
	if err != nil {
		return c, usagef("--confirm: %s: %w", set.Path, err)
	}
	if _, err := c.rejoin(ctx, "--confirm: "+set.Path, run); err != nil {
		return c, err
	}
	if err := sameBaseline(ctx, run, c.peers); err != nil {
		return c, usagef("--confirm: %s: %w", set.Path, err)
	}
	wanted := slices.Clone(keys)
	for _, cell := range run.Cells {
		if slices.Contains(keys, cell.Key()) {
			cell.Rate = 0
			wanted = append(wanted, cell.Key())
		}
	}
	c.seed = randomSeed()
	c.cells = slices.DeleteFunc(slices.Clone(run.Cells), func(cell results.Cell) bool { return !slices.Contains(wanted, cell.Key()) })
	if err := c.samePrograms(ctx, run, o.peer, o.areg); err != nil {
		return c, usagef("--confirm: %s: %w", set.Path, err)
	}
	return c, nil
}
