package cli

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"msgbench/bench"
	"msgbench/machine"
	"msgbench/pinning"
	"msgbench/report/source"
	"msgbench/results"
)

// goOn continues the run in a directory: it resumes one that was interrupted, or retries cells of one that is over. All
// settings are those of the run.
func (o *runOptions) goOn(cmd *cobra.Command, args []string, s streams, flag, dir string) error {
	if len(args) > 0 {
		return usagef("--%s %s: the suite is that of the run; leave out %q", flag, dir, args[0])
	}
	allowed := []string{flag, "quiet", "peer", "areg", "events"}
	if flag == "retry" {
		allowed = append(allowed, "verdict", "cell")
	}
	for _, name := range changed(cmd) {
		if !slices.Contains(allowed, name) {
			return usagef("--%s %s: the settings are those of the run; leave out --%s", flag, dir, name)
		}
	}
	run, err := results.ReadRun(dir)
	if err != nil {
		return usage(err)
	}
	c, err := chosenBy(run)
	if err != nil {
		return usagef("%s: %w", dir, err)
	}
	if err := bench.CheckTempDir(); err != nil {
		return usage(err)
	}
	ctx := cmd.Context()
	if v := machine.Version(); v != run.Msgbench {
		return usagef("%s was measured by msgbench %s, this is %s: rows of two versions don't mix", dir, run.Msgbench, v)
	}
	// Builds of one version that is not told apart by a revision: only the program itself tells.
	if b, err := machine.Build(); err != nil {
		return err
	} else if run.Build != "" && b != run.Build {
		return usagef("%s was measured by another build of msgbench %s (%s, this is %s): rows of two builds don't mix", dir, run.Msgbench, run.Build, b)
	}
	env, err := c.rejoin(ctx, dir, run)
	if err != nil {
		return err
	}
	going, err := c.resumption(run, env, flag)
	if err != nil {
		return usagef("%s %w", dir, err)
	}
	if err := sameBaseline(ctx, run, c.peers); err != nil {
		return usagef("--%s %s: %w", flag, dir, err)
	}
	if err := c.samePrograms(ctx, run, o.peer, o.areg); err != nil {
		return usagef("--%s %s: %w", flag, dir, err)
	}
	take := func(sampler bench.Sampler, p bench.Progress) (int, error) {
		return bench.Measure(ctx, dir, run, c.skipReasons(), sampler, p)
	}
	if flag == "retry" {
		keys, err := o.retryKeys(dir, run)
		if err != nil {
			return err
		}
		for _, cell := range run.Cells {
			if keys[cell.Key()] || keys[run.AB.Partner(cell.Key())] {
				going.Cells = append(going.Cells, cell.Key())
			}
		}
		skip := c.skipReasons()
		for _, cell := range c.cells {
			if reason := skip(cell); keys[cell.Key()] && reason != "" {
				return usagef("--retry %s: %s can't run here now: %s", dir, cell.Key(), reason)
			}
		}
		take = func(sampler bench.Sampler, p bench.Progress) (int, error) {
			return bench.Again(ctx, dir, run, keys, sampler, p)
		}
		if !o.quiet {
			fmt.Fprintf(s.err, "%d cells of %s are measured again\n", len(going.Cells), dir)
		}
	} else if !o.quiet {
		fmt.Fprintf(s.err, "going on with %s\n", dir)
	}
	e, err := openEvents(ctx, o.events, s)
	if err != nil {
		return err
	}
	said := resume(&run, going)
	if !o.quiet {
		fmt.Fprintf(s.err, "%s: %s\n", said.Key, said.Value)
	}
	return o.measure(ctx, c, run, dir, flag, e, s, take)
}

// changed are the names of the flags that were given.
func changed(cmd *cobra.Command) []string {
	var names []string
	cmd.Flags().Visit(func(f *pflag.Flag) { names = append(names, f.Name) })
	return names
}

// chosenBy is what a run was chosen to be, on this machine.
func chosenBy(run results.Run) (c chosen, err error) {
	c.suite.Name, c.cells, c.policy, c.seed = run.Suite, run.Cells, run.Policy, run.Seed
	c.peers = catalog().Peers
	pin := run.Pin
	if pin == defaultPin {
		pin = ""
	}
	if c.plan, err = pinning.Parse(pin); err != nil {
		return c, err
	}
	if c.topology, err = pinning.System(); err != nil {
		return c, err
	}
	return c, nil
}

// retryKeys are the cells to measure again: those of the verdicts, and of --cell where that is given.
func (o *runOptions) retryKeys(dir string, run results.Run) (map[string]bool, error) {
	known := []string{results.Unstable, results.Failed, results.Skipped}
	for _, v := range o.verdict {
		if results.Publishable(v) {
			return nil, usagef("--verdict %s: such a row holds, and a retry would put other figures in its place, until somebody likes "+
				"them: make a new run, and compare", v)
		}
		if !slices.Contains(known, v) {
			return nil, usagef("--verdict: unknown verdict %q (want some of %v)", v, known)
		}
	}
	set, err := source.LoadRun(dir)
	if err != nil {
		return nil, usage(err)
	}
	cells, err := bench.Select(run.Cells, o.globs)
	if err != nil {
		return nil, usage(err)
	}
	index, closeIndex, err := results.OpenIndex(filepath.Join(dir, results.JournalFile))
	if err != nil {
		return nil, usage(err)
	}
	if err := closeIndex(); err != nil { // heads are enough
		return nil, usage(err)
	}
	keys := map[string]bool{}
	for _, c := range set.Cells {
		r := &c.Row
		if index.Has(r.Cell) && // what an interrupted run has not come to is for --resume
			slices.Contains(o.verdict, r.Verdict) && slices.ContainsFunc(cells, func(c results.Cell) bool { return c.Key() == r.Cell }) {
			keys[r.Cell] = true
		}
	}
	if len(keys) == 0 {
		return nil, usagef("--retry %s: no cell there is %v", dir, o.verdict)
	}
	return keys, nil
}
