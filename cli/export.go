package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"msgbench/report/export"
)

func newExport(s streams) *cobra.Command {
	var format, out string
	var globs, names []string
	var list strings.Builder
	for _, f := range export.Formats() {
		names = append(names, f[0])
		fmt.Fprintf(&list, "  %-15s %s\n", f[0], f[1])
	}
	cmd := &cobra.Command{
		Use:   "export DIR|CSV --format FORMAT",
		Short: "Write the rows of a run in the format of another program",
		Long: "Write the rows of a run directory, or of a CSV, in the format of another program:\n\n" + list.String() + `
Rows that can't be relied on are left out where the format can't mark them, and named on standard error.

Exit status: 0; 2 bad usage or input; 4 no row could be written.`,
		Args: oneOf("a run directory or a results.csv"),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := known("--format", format, names); err != nil {
				return err
			}
			set, err := s.loadSet(args[0], export.Columns(format)...)
			if err != nil {
				return err
			}
			if err := set.Select(globs); err != nil {
				return usage(err)
			}
			r, err := export.Write(set, format)
			if err != nil {
				return usage(err)
			}
			for _, l := range r.LeftOut {
				fmt.Fprintf(s.err, "left out: %s\n", l)
			}
			if r.Rows == 0 {
				return &exitError{exitUnstable, fmt.Errorf("%s: no row can be exported as %s", args[0], format)}
			}
			return s.writeOutput(out, r.Data)
		},
	}
	cmd.Flags().StringVar(&format, "format", "", "`format`: "+strings.Join(names, ", "))
	cmd.Flags().StringVarP(&out, "output", "o", "-", "write to this `file`; - is standard output")
	cmd.Flags().StringArrayVar(&globs, "cell", nil, "only cells whose key matches this `glob`; may be repeated (* matches / too)")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}
