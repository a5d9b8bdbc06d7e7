package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"msgbench/report/compare"
	"msgbench/report/source"
)

// defaultMargin is what counts as the same where --fail-on does not say: runs of one build differ by as much.
const defaultMargin = 0.05

func newCompare(s streams) *cobra.Command {
	var format, out, failOn string
	cmd := &cobra.Command{
		Use:   "compare OLD NEW | RUN",
		Short: "Compare two runs, or the two sides of one: better, worse, same, or unsure and why",
		Long: `Compare two runs, cell by cell. OLD and NEW are run directories, or CSVs with their journals beside them.

With one argument: compare the two sides of a run that was made with --ab or --baseline-binary, pair by pair, so that what
slows the machine down for a while hits both.

The ratio of each cell has an interval and a test over its samples, adjusted for how many cells there are. Throughput is
compared at max, the median service time at a fixed rate. Rows that are unstable, failed, skipped or imported are never
compared: they are unsure.

Exit status: 0; 2 bad usage or input; with --fail-on: 3 a cell is worse by more, with its whole interval; 4 no cell could
be compared, or the machine changed between the runs, or a cell that was good in OLD
failed or was skipped in NEW.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 && len(args) != 2 {
				return usagef("%s: want two arguments, OLD and NEW: run directories or CSVs; or one run with --ab", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			margin := defaultMargin
			if failOn != "" {
				var err error
				if margin, err = parseFailOn(failOn); err != nil {
					return usage(err)
				}
			}
			if err := known("--format", format, compare.Formats); err != nil {
				return err
			}
			r, err := s.compare(args, margin)
			if err != nil {
				return err
			}
			data, err := compare.Write(r, format)
			if err != nil {
				return err
			}
			if err := s.writeOutput(out, data); err != nil {
				return err
			}
			if failOn == "" {
				return nil
			}
			return compared(r, margin)
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", "`format` of the output: "+strings.Join(compare.Formats, ", "))
	cmd.Flags().StringVarP(&out, "output", "o", "-", "write to this `file`; - is standard output")
	cmd.Flags().StringVar(&failOn, "fail-on", "", "exit 3 where a cell is worse by more than this: worse:5%")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(compare.Formats, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// compare compares two runs, or the sides of one.
func (s streams) compare(args []string, margin float64) (r compare.Result, err error) {
	if len(args) == 1 {
		set, err := s.loadSet(args[0])
		if err != nil {
			return r, err
		}
		if r, err = compare.Pairs(set, margin); err != nil {
			return r, usage(err)
		}
		return r, nil
	}
	old, err := s.loadSet(args[0])
	if err != nil {
		return r, err
	}
	new, err := s.loadSet(args[1])
	if err != nil {
		return r, err
	}
	if r, err = compare.Compare(old, new, margin); err != nil {
		return r, usage(err)
	}
	return r, nil
}

// parseFailOn reads worse:5% into 0.05.
func parseFailOn(s string) (float64, error) {
	text, ok := strings.CutPrefix(s, "worse:")
	number, per := strings.CutSuffix(text, "%")
	v, err := strconv.ParseFloat(number, 64)
	if !ok || !per || err != nil || !(v > 0 && v < 100) {
		return 0, fmt.Errorf("--fail-on %q: want worse:5%%, with more than 0 and less than 100 per cent", s)
	}
	return v / 100, nil
}

// compared is the exit code of --fail-on.
func compared(r compare.Result, margin float64) error {
	if worse := r.Beyond(margin); len(worse) > 0 {
		return &exitError{exitBroken, fmt.Errorf("worse by more than %g %%: %s", margin*100, someKeys(worse))}
	}
	if broken := r.Broken(); len(broken) > 0 {
		if r.Sides != nil {
			return &exitError{exitUnstable, fmt.Errorf("good as A, failed or skipped as B: %s", someKeys(broken))}
		}
		return &exitError{exitUnstable, fmt.Errorf("good in OLD, failed or skipped in NEW: %s", someKeys(broken))}
	}
	if moved := r.Moved(); moved != "" {
		return &exitError{exitUnstable, errors.New(moved)}
	}
	if r.Tests == 0 && r.Sides != nil {
		return &exitError{exitUnstable, fmt.Errorf("no pair could be compared")}
	}
	if r.Tests == 0 {
		return &exitError{exitUnstable, fmt.Errorf("no cell of the two runs could be compared")}
	}
	return nil
}

// someKeys names the first few cells.
func someKeys(cells []compare.Cell) string {
	const most = 3
	var keys []string
	for i, c := range cells {
		if i == most {
			keys = append(keys, fmt.Sprintf("and %d more", len(cells)-most))
			break
		}
		keys = append(keys, c.Key)
	}
	return strings.Join(keys, ", ")
}

// loadSet is source.Load, and says when the journal was cut.
func (s streams) loadSet(path string, columns ...string) (source.Set, error) {
	frugal()
	set, err := source.Load(path, columns...)
	if err != nil {
		return set, usage(err)
	}
	s.tellCut(set)
	return set, nil
}

func (s streams) tellCut(set source.Set) {
	if set.Cut > 0 {
		fmt.Fprintf(s.err, "%s: the journal ends in the middle of a sample: its last %d bytes were left out\n", set.Path, set.Cut)
	}
}

// known refuses a value that a flag does not have.
func known(flag, value string, values []string) error {
	for _, v := range values {
		if v == value {
			return nil
		}
	}
	return usagef("%s %q: want one of %s", flag, value, strings.Join(values, ", "))
}
