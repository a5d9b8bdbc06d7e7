package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"msgbench/bench"
	"msgbench/peers"
	"msgbench/report"
	"msgbench/results"
	"msgbench/stability"
)

type runOptions struct {
	selection
	out   string
	quiet bool
}

func newRun(s streams) *cobra.Command {
	o := &runOptions{}
	cmd := &cobra.Command{
		Use:   "run [SUITE|FILE]",
		Short: "Measure a suite and print a ranked table (default suite: quick)",
		Long: `Measure every cell of a suite, in rounds of random order, each sample in fresh processes; print a ranked table and
leave the journal, the CSV and a markdown report in the run directory.

Exit status: 0 good; 1 could not run, or a cell failed, or all were skipped; 2 bad usage; 4 a row is unstable;
130 interrupted (what was measured is kept).`,
		Args: atMostOne("a suite or a suite file"),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args, s) },
	}
	o.flags(cmd)
	cmd.Flags().StringVar(&o.out, "out", "", "run `directory`, which must not exist (default: msgbench-runs/<UTC time>)")
	cmd.Flags().BoolVarP(&o.quiet, "quiet", "q", false, "no progress, only the table")
	return cmd
}

func (o *runOptions) run(cmd *cobra.Command, args []string, s streams) error {
	c, err := o.resolve(cmd, args)
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	c.missing = findPeers(ctx, c.cells, c.peers, peers.Build)
	dir, err := makeRunDir(o.out)
	if err != nil {
		return err
	}
	p := newProgress(s.err, o.quiet)
	p.begin(c, dir)
	run, err := describeRun(ctx, c)
	if err != nil {
		return err
	}
	if err := results.WriteRun(dir, run); err != nil {
		return err
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	workers, err := bench.NewWorkers(exe, c.peers, c.policy, c.topology, c.plan)
	if err != nil {
		return err
	}
	samples, runErr := bench.Run(ctx, dir, run, c.skipReasons(), workers, p)
	p.end()
	closeErr := workers.Close()
	if runErr != nil && !errors.Is(runErr, context.Canceled) {
		return errors.Join(runErr, closeErr)
	}
	rows, err := o.finish(dir, run, samples, s)
	if err := errors.Join(err, closeErr); err != nil {
		return err
	}
	if runErr != nil {
		return &exitError{exitInterrupted, fmt.Errorf("interrupted: %d samples are kept in %s", len(samples), dir)}
	}
	return outcome(rows)
}

// finish writes what follows from the journal, and prints the table.
func (o *runOptions) finish(dir string, run results.Run, samples []results.Sample, s streams) ([]results.Row, error) {
	rows, err := stability.Rows(run, samples)
	if err != nil {
		return nil, err
	}
	notes, err := stability.Notes(run, samples)
	if err != nil {
		return nil, err
	}
	table := results.Table{Facts: run.Facts, Rows: rows}
	csv, err := table.MarshalCSV()
	if err != nil {
		return nil, err
	}
	if err := results.WriteFile(filepath.Join(dir, results.CSVFile), csv); err != nil {
		return nil, err
	}
	md := report.Markdown(report.Document{Table: table, Notes: notes})
	if err := results.WriteFile(filepath.Join(dir, results.ReportFile), []byte(md)); err != nil {
		return nil, err
	}
	_, err = fmt.Fprintf(s.out, "%s\nrun directory: %s\n", report.Ranking(rows), dir)
	return rows, err
}

// outcome is the exit code of a whole run.
func outcome(rows []results.Row) error {
	n := map[string]int{}
	for _, r := range rows {
		n[r.Verdict]++
	}
	switch {
	case n[results.Failed] > 0:
		return &exitError{exitFailed, fmt.Errorf("%d of %d cells failed", n[results.Failed], len(rows))}
	case n[results.Skipped] == len(rows):
		return &exitError{exitFailed, errors.New("every cell was skipped")}
	case n[results.Unstable] > 0:
		return &exitError{exitUnstable, fmt.Errorf("%d of %d cells are unstable", n[results.Unstable], len(rows))}
	}
	return nil
}

// makeRunDir makes the directory of a run, which must not be there yet.
func makeRunDir(out string) (string, error) {
	if out != "" {
		if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
			return "", usagef("--out %s: %w", out, err)
		}
		err := os.Mkdir(out, 0o755)
		if errors.Is(err, os.ErrExist) {
			return "", usagef("--out %s: exists already; name a new directory", out)
		}
		if err != nil {
			return "", usagef("--out %s: %w", out, err)
		}
		return out, nil
	}
	const parent = "msgbench-runs"
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", fmt.Errorf("%w (--out names another place)", err)
	}
	stamp := filepath.Join(parent, time.Now().UTC().Format("20060102T150405Z"))
	dir := stamp
	for n := 2; ; n++ {
		err := os.Mkdir(dir, 0o755)
		if err == nil {
			return dir, nil
		}
		if !errors.Is(err, os.ErrExist) {
			return "", fmt.Errorf("%w (--out names another place)", err)
		}
		dir = fmt.Sprintf("%s-%d", stamp, n) // two runs in one second
	}
}
