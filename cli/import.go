package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"msgbench/report"
)

type importOptions struct {
	out     string
	machine string
}

func newImport(s streams) *cobra.Command {
	o := &importOptions{}
	names := make([]string, 0, 3)
	var help strings.Builder
	for _, f := range report.ImportFormats() {
		names = append(names, f[0])
		fmt.Fprintf(&help, "  %-8s %s\n", f[0], f[1])
	}
	cmd := &cobra.Command{
		Use:   "import " + strings.Join(names, "|") + " FILE",
		Short: "Turn published result files into rows that stand beside measured ones",
		Long: `Turn a published CSV into a results CSV: one row for each of its lines, with the verdict imported, its machine, and what
is wrong with it. report --reference sets such rows beside measured ones; they are never ranked and never a floor.

Formats:
` + help.String(),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usagef("msgbench import: want two arguments: %s, and a file", strings.Join(names, ", "))
			}
			return nil
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveDefault
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error { return o.run(args[0], args[1], s) },
	}
	f := cmd.Flags()
	f.StringVarP(&o.out, "output", "o", "-", "write to this `file`; - is standard output")
	f.StringVar(&o.machine, "machine", "", "`name` of the machine that it was measured on (default: what the file or its page says)")
	return cmd
}

func (o *importOptions) run(format, path string, s streams) error {
	known := false
	var names []string
	for _, f := range report.ImportFormats() {
		known = known || f[0] == format
		names = append(names, f[0])
	}
	if !known {
		return usagef("msgbench import: unknown format %q (want %s)", format, strings.Join(names, ", "))
	}
	data, err := readInput(path, s.in)
	if err != nil {
		return usage(err)
	}
	name := path
	if path == "-" {
		name = "standard input"
	}
	t, err := report.Import(format, name, data, o.machine)
	if err != nil {
		return usage(err)
	}
	csv, err := t.MarshalCSV()
	if err != nil {
		return err
	}
	return s.writeOutput(o.out, csv)
}

// readInput reads a whole file, or standard input for "-".
func readInput(path string, stdin io.Reader) ([]byte, error) {
	if path == "-" {
		return io.ReadAll(stdin)
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s: no such file", path)
	}
	return data, err
}
