package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"msgbench/report/floors"
)

type checkOptions struct {
	floors, format, out, margin string
	init, confirm               bool
	peer                        []string
	areg                        string
}

func newCheck(s streams) *cobra.Command {
	o := &checkOptions{}
	cmd := &cobra.Command{
		Use:   "check DIR|CSV --floors FILE",
		Short: "Hold a run against floors: pass, fail, inconclusive or missing",
		Long: `Hold a run directory, or a CSV with its journal beside it, against the floors of a YAML file:

  floors:
    - name: shm is fast
      match: {scenario: ping-pong, transport: shm, target_rps: max}
      metric: throughput
      min: 1000000
    - name: shm is five times tcp
      match: {scenario: ping-pong, transport: shm, target_rps: max}
      metric: throughput
      relative_to: {transport: tcp}
      min: 5

A floor fails only if the whole interval is beyond it; it passes only if the whole interval keeps it. A row that is
missing or unstable never passes. Under GITHUB_ACTIONS=true annotations go to standard error, and a summary to the file
that GITHUB_STEP_SUMMARY names.

Exit status: 0 all pass; 2 bad usage or input, also a floor that matches no cell; 3 a floor is broken; 4 a floor is
inconclusive or missing.`,
		Args: oneOf("a run directory or a results.csv"),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args[0], s) },
	}
	f := cmd.Flags()
	f.StringVar(&o.floors, "floors", "", "YAML `file` of the floors")
	f.StringVar(&o.format, "format", "text", "`format` of the output: "+strings.Join(floors.Formats, ", "))
	f.StringVarP(&o.out, "output", "o", "-", "write to this `file`; - is standard output")
	f.BoolVar(&o.confirm, "confirm", false, "measure the cells of broken floors again: that run decides, and both are shown")
	f.StringArrayVar(&o.peer, "peer", nil, "with --confirm: `NAME=PATH` of a program that was plugged in (default: where it was)")
	f.StringVar(&o.areg, "areg", "", "with --confirm: `directory` of a built areg-sdk (default: that of the run)")
	f.BoolVar(&o.init, "init", false, "write floors from the run instead of checking it")
	f.StringVar(&o.margin, "margin", "20%", "with --init: how far beyond the interval of a row its floor is")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(floors.Formats, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (o *checkOptions) run(ctx context.Context, path string, s streams) error {
	if err := known("--format", o.format, floors.Formats); err != nil {
		return err
	}
	if !o.confirm && (o.areg != "" || len(o.peer) > 0) {
		return usagef("msgbench check: --peer and --areg go with --confirm, which measures again")
	}
	if o.init && o.floors != "" {
		return usagef("msgbench check: --init writes floors, --floors reads them: want one of the two")
	}
	if o.init {
		return o.makeFloors(path, s)
	}
	if o.floors == "" {
		return usagef("msgbench check: want --floors FILE (--init writes one from a run)")
	}
	data, err := os.ReadFile(o.floors)
	if err != nil {
		return usagef("--floors: %w", err)
	}
	list, err := floors.Parse(o.floors, data)
	if err != nil {
		return usage(err)
	}
	set, err := s.loadSet(path, floors.Columns(list)...)
	if err != nil {
		return err
	}
	r, err := floors.Check(set, o.floors, list)
	if err != nil {
		return usage(err)
	}
	if o.confirm {
		if r, err = o.confirmed(ctx, r, set, s); err != nil {
			return err
		}
	}
	return o.publish(r, s)
}

// publish writes the report where people and CI look for it, and gives the exit code.
func (o *checkOptions) publish(r floors.Report, s streams) error {
	out, err := floors.Write(r, o.format)
	if err != nil {
		return err
	}
	if err := s.writeOutput(o.out, out); err != nil {
		return err
	}
	actions := os.Getenv("GITHUB_ACTIONS") == "true"
	if actions && !(o.format == "github" && o.out == "-") {
		fmt.Fprint(s.err, floors.Annotations(r))
	}
	if file := os.Getenv("GITHUB_STEP_SUMMARY"); file != "" && (actions || o.format == "github") {
		if err := appendTo(file, floors.StepSummary(r)); err != nil {
			return err
		}
	}
	switch {
	case r.Count(floors.Fail) > 0:
		return &exitError{exitBroken, fmt.Errorf("a floor is broken: %s", r.Summary())}
	case r.Count(floors.Pass) < len(r.Floors):
		return &exitError{exitUnstable, errors.New(r.Summary())}
	}
	return nil
}

// appendTo adds to a file that belongs to someone else: other steps write to it as well.
func appendTo(path, text string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("step summary: %w", err)
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// makeFloors is --init.
func (o *checkOptions) makeFloors(path string, s streams) error {
	number, per := strings.CutSuffix(o.margin, "%")
	margin, err := strconv.ParseFloat(number, 64)
	if !per || err != nil || !(margin >= 0 && margin < 100) {
		return usagef("--margin %q: want a percentage like 20%%, from 0%% to less than 100%%", o.margin)
	}
	set, err := s.loadSet(path, floors.InitColumns...)
	if err != nil {
		return err
	}
	if err := set.Unique(); err != nil {
		return usage(err)
	}
	data, err := floors.Init(set, margin/100)
	if err != nil {
		return &exitError{exitUnstable, err}
	}
	return s.writeOutput(o.out, data)
}
