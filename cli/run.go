package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"msgbench/bench"
	"msgbench/peers"
	"msgbench/report"
	"msgbench/results"
)

type runOptions struct {
	selection
	out     string
	quiet   bool
	events  string
	shard   string
	resume  string
	retry   string
	verdict []string
	profile bool
	failOn  string
}

func newRun(s streams) *cobra.Command {
	o := &runOptions{}
	cmd := &cobra.Command{
		Use:   "run [SUITE|FILE]",
		Short: "Measure a suite and print a ranked table (default suite: quick)",
		Long: `Measure every cell of a suite, in rounds of random order (or --order page), each sample in fresh processes; print a ranked table and
leave the journal, the CSV and a report (markdown and HTML) in the run directory.

Exit status: 0 good; 1 could not run, or a cell failed, or all were skipped; 2 bad usage; 3 worse by more than --fail-on
allows; 4 a row is unstable, or with --fail-on nothing could be compared; 130 interrupted (what was measured is kept, and run --resume DIR goes on).`,
		Args: atMostOne("a suite or a suite file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case o.resume != "":
				return o.goOn(cmd, args, s, "resume", o.resume)
			case o.retry != "":
				return o.goOn(cmd, args, s, "retry", o.retry)
			case cmd.Flags().Changed("verdict"):
				return usagef("--verdict goes with --retry DIR")
			}
			return o.run(cmd, args, s)
		},
	}
	o.flags(cmd)
	f := cmd.Flags()
	f.StringVar(&o.out, "out", "", "run `directory`, which must not exist (default: msgbench-runs/<UTC time>)")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "no progress, only the table")
	f.StringVar(&o.events, "events", "",
		"append what happens to `file` as lines of JSON (docs/events.md); - is standard output, and the table then goes to standard error")
	f.StringVar(&o.shard, "shard", "",
		"measure only part `i/n` of the cells; auto or auto/n: as Kubernetes, GitHub Actions or Slurm say; msgbench merge joins the parts")
	f.BoolVar(&o.profile, "profile", false,
		"also write a CPU profile of each worker in Go, into the run directory's folder "+results.ProfileDir+" (go tool pprof reads it); it costs them a little")
	f.StringVar(&o.failOn, "fail-on", "", "with --ab or --baseline-binary: exit 3 where B is worse than A by more than this: `worse:5%`")
	f.StringVar(&o.resume, "resume", "", "go on with the interrupted run in this `directory`")
	f.StringVar(&o.retry, "retry", "", "measure cells of the run in this `directory` again, beside what it has")
	f.StringSliceVar(&o.verdict, "verdict", []string{results.Unstable, results.Failed}, "with --retry: `verdicts` of the cells to measure again")
	return cmd
}

func (o *runOptions) run(cmd *cobra.Command, args []string, s streams) error {
	c, err := o.resolve(cmd, args)
	if err != nil {
		return err
	}
	whole := c.cells
	var shard bench.Shard
	var said string // of the engine that chose it
	if o.shard != "" && c.ab != nil {
		return usagef("--shard: both sides of --ab and --baseline-binary are measured on one machine; leave one of them out")
	}
	if o.failOn != "" {
		if c.ab == nil {
			return usagef("--fail-on goes with --ab or --baseline-binary; two runs are compared by msgbench compare")
		}
		if _, err := parseFailOn(o.failOn); err != nil {
			return usage(err)
		}
	}
	if o.shard != "" {
		if shard, said, err = bench.ResolveShard(o.shard, os.LookupEnv); err != nil {
			return usagef("--shard: %w", err)
		}
		if c.policy.MaxTime > 0 {
			return usagef("--shard %s: max-time does not go with it: every shard would stop at another place", o.shard)
		}
		if !cmd.Flags().Changed("seed") {
			return usagef("--shard needs --seed, the same one for all shards")
		}
		if c.cells = shard.Cells(whole, c.policy); len(c.cells) == 0 {
			return usagef("--shard %s: no cell is left for it: the %d cells make fewer groups", shard, len(whole))
		}
	}
	if err := bench.CheckTempDir(); err != nil {
		return usage(err)
	}
	ctx := cmd.Context()
	c.missing = findPeers(ctx, c.cells, c.peers, peers.Build)
	if err := c.findAreg(ctx, o.areg, true); err != nil {
		return err
	}
	e, err := openEvents(ctx, o.events, s)
	if err != nil {
		return err
	}
	dir, err := makeRunDir(o.out)
	if err != nil {
		return err
	}
	if said != "" {
		fmt.Fprintln(s.err, said) // also with -q: which part this is can't be seen otherwise
	}
	if !o.quiet {
		announce(s.err, c, dir)
	}
	run, err := describeRun(ctx, c)
	if err != nil {
		return err
	}
	if o.profile {
		run.Profile = true
		run.Facts = append(run.Facts, results.Fact{Key: "profile", Value: "the workers in Go were profiled while they were measured"})
	}
	if o.shard != "" {
		run.Shard = shard.String()
		for _, cell := range whole {
			run.Whole = append(run.Whole, cell.Key())
		}
	}
	if err := results.WriteRun(dir, run); err != nil {
		return err
	}
	return o.measure(ctx, c, run, dir, howRun, e, s, func(sampler bench.Sampler, p bench.Progress) (int, error) {
		return bench.Measure(ctx, dir, run, c.skipReasons(), sampler, p)
	})
}

// takeSamples runs or goes on with a run.
type takeSamples func(bench.Sampler, bench.Progress) (kept int, err error)

// measure takes samples with workers of its own, writes what follows from the journal, and prints the table. how is the
// word of the events for how the run begins.
func (o *runOptions) measure(ctx context.Context, c chosen, run results.Run, dir, how string, e *events, s streams, take takeSamples) error {
	if o.events == "-" {
		s.out = s.err // events alone are on standard output
	}
	err := o.measureTold(ctx, c, run, dir, how, s, newProgress(s.err, o.quiet, e), take)
	// A run is good or bad whatever became of its events; but that they are missing must show.
	if closeErr := e.close(); closeErr != nil {
		var exit *exitError
		if err == nil || errors.As(err, &exit) && exit.code == exitUnstable {
			return &exitError{exitFailed, errors.Join(err, closeErr)}
		}
		fmt.Fprintf(s.err, "msgbench: %v\n", closeErr)
	}
	return err
}

// measureTold is measure with somebody who is told how it goes.
func (o *runOptions) measureTold(ctx context.Context, c chosen, run results.Run, dir, how string, s streams, p *progress, take takeSamples) (err error) {
	frugal()
	p.begin(c, run, dir, how)
	var taken int
	defer func() {
		var exit *exitError
		if err != nil && !errors.As(err, &exit) {
			p.events.end("failed", dir, taken, nil, err)
		}
	}()
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	workers, err := bench.NewWorkers(exe, c.peers, c.policy, c.topology, c.plan)
	if err != nil {
		return err
	}
	if c.host != nil {
		workers.ServeOn(c.host)
	}
	if run.Profile {
		profiles, err := filepath.Abs(filepath.Join(dir, results.ProfileDir))
		if err != nil {
			return errors.Join(err, workers.Close())
		}
		if err := os.MkdirAll(profiles, 0o755); err != nil {
			return errors.Join(err, workers.Close())
		}
		if err := workers.ProfileInto(profiles); err != nil {
			return errors.Join(err, workers.Close())
		}
	}
	sampler, err := c.sampler(workers)
	if err != nil {
		return errors.Join(err, workers.Close())
	}
	taken, runErr := take(sampler, p)
	p.end()
	closeErr := workers.Close()
	if runErr != nil && !errors.Is(runErr, context.Canceled) {
		return errors.Join(runErr, closeErr)
	}
	set, d, err := writeReports(dir)
	rows := d.Rows
	if err := errors.Join(err, closeErr); err != nil {
		return err
	}
	for _, r := range rows {
		p.events.row(r)
	}
	fmt.Fprintln(s.out, report.Ranking(rows)+report.Precision(d))
	var worse error
	if runErr == nil {
		worse = o.printPairs(set, s)
	}
	if _, err := fmt.Fprintf(s.out, "run directory: %s\n", dir); err != nil {
		return err
	}
	if runErr != nil {
		p.events.end("interrupted", dir, taken, rows, nil)
		next := fmt.Sprintf("run --resume %s goes on", dir)
		if o.retry != "" {
			next = "a retry counts when it is whole: start it again"
		}
		return &exitError{exitInterrupted, fmt.Errorf("interrupted: %d samples are kept in %s; %s", taken, dir, next)}
	}
	p.events.end("end", dir, taken, rows, nil)
	return outcome(rows, worse)
}

// outcome is the exit code of a whole run. worse is what --fail-on found: a cell that failed outweighs it, one that is
// unstable does not.
func outcome(rows []results.Row, worse error) error {
	n := map[string]int{}
	for _, r := range rows {
		n[r.Verdict]++
	}
	switch {
	case n[results.Failed] > 0:
		return &exitError{exitFailed, fmt.Errorf("%d of %d cells failed", n[results.Failed], len(rows))}
	case n[results.Skipped] == len(rows):
		return &exitError{exitFailed, errors.New("every cell was skipped")}
	case worse != nil:
		return worse
	case n[results.Unstable] > 0:
		return &exitError{exitUnstable, fmt.Errorf("%d of %d cells are unstable", n[results.Unstable], len(rows))}
	}
	return nil
}
