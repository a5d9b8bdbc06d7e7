package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"msgbench/report"
	"msgbench/report/compare"
	"msgbench/report/source"
	"msgbench/results"
	"msgbench/stability"
)

type reportOptions struct {
	style      string
	out        string
	references []string
	html       string
	charts     string
}

func newReport(s streams) *cobra.Command {
	o := &reportOptions{}
	cmd := &cobra.Command{
		Use:   "report DIR|CSV...",
		Short: "Make the markdown report of a run directory or of its CSV, in one of several styles",
		Long: `Make the markdown report of a run directory (from its journal, with notes) or of a results.csv alone. The same input
gives the same bytes. Several of them give tables by platform, which rank nothing. With --html or --charts the markdown is
written only where -o asks for it.

Styles:
` + styleHelp(),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("msgbench report: want one argument or more: run directories or results.csv")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args, s) },
	}
	f := cmd.Flags()
	f.StringVar(&o.style, "style", report.Styles[0].Name, "layout: `name` is "+strings.Join(report.StyleNames(), ", "))
	f.StringArrayVar(&o.references, "reference", nil, "set the published rows of this `file` (see msgbench import) beside the measured ones; may be repeated")
	f.StringVar(&o.html, "html", "", "write a page with tables and charts to this `file`; - is standard output")
	f.StringVar(&o.charts, "charts", "", "write each chart as SVG and PNG into this `directory`")
	f.StringVarP(&o.out, "output", "o", "-", "write to this `file`; - is standard output")
	_ = cmd.RegisterFlagCompletionFunc("style", cobra.FixedCompletions(styleCompletions(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func styleHelp() string {
	var b strings.Builder
	for _, s := range report.Styles {
		fmt.Fprintf(&b, "  %-11s %s\n", s.Name, s.Summary)
	}
	return b.String()
}

func styleCompletions() []cobra.Completion {
	var out []cobra.Completion
	for _, s := range report.Styles {
		out = append(out, cobra.CompletionWithDesc(s.Name, s.Summary))
	}
	return out
}

func (o *reportOptions) run(cmd *cobra.Command, args []string, s streams) error {
	style, err := report.FindStyle(o.style)
	if err != nil {
		return usagef("--style: %w", err)
	}
	if len(args) > 1 && (cmd.Flags().Changed("style") || len(o.references) > 0) {
		return usagef("several runs give tables by platform: leave out --style and --reference, or name one run")
	}
	var docs []report.Document
	for _, a := range args {
		d, err := load(a)
		if err != nil {
			return usage(err)
		}
		docs = append(docs, d)
	}
	if len(docs) > 1 {
		if written, err := o.pictures(cmd, docs, s); err != nil || written {
			return err
		}
		return s.writeOutput(o.out, []byte(report.Platforms(docs)))
	}
	for _, path := range o.references {
		t, err := readTable(path)
		if err != nil {
			return usagef("--reference: %w", err)
		}
		for i := range t.Rows {
			if v := t.Rows[i].Verdict; v != results.Imported {
				return usagef("--reference %s: the row %s is %s, not imported: published files become references with msgbench import", path, t.Rows[i].Cell, v)
			}
		}
		docs[0].References = append(docs[0].References, t)
	}
	if written, err := o.pictures(cmd, docs, s); err != nil || written {
		return err
	}
	return s.writeOutput(o.out, []byte(style.Render(docs[0])))
}

// writeOutput writes a whole file, or to standard output for "-".
func (s streams) writeOutput(path string, data []byte) error {
	if path == "-" {
		_, err := io.Copy(s.out, bytes.NewReader(data))
		return err
	}
	return results.WriteFile(path, data)
}

// load reads a run directory or a CSV.
func load(path string) (report.Document, error) {
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return report.Document{}, fmt.Errorf("%s: no such file or directory (want a run directory or a results.csv)", path)
	}
	if err != nil {
		return report.Document{}, err
	}
	if info.IsDir() {
		frugal()
		return loadRun(path)
	}
	t, err := readTable(path)
	return report.Document{Table: t, Name: filepath.Base(path)}, err
}

// readTable reads a CSV of results.
func readTable(path string) (results.Table, error) {
	t, err := results.ReadCSV(path)
	if errors.Is(err, os.ErrNotExist) {
		return t, fmt.Errorf("%s: no such file", path)
	}
	return t, err
}

// frugal has garbage collected when it is a third of what is in use, not as much, for commands that read journals or go on for
// hours: a little more time for less memory.
func frugal() { debug.SetGCPercent(33) }

// loadRun makes the document of a run from its journal.
func loadRun(dir string) (report.Document, error) {
	set, err := source.LoadRun(dir)
	if err != nil {
		return report.Document{}, err
	}
	return documentOf(set)
}

func documentOf(set source.Set) (d report.Document, err error) {
	set.Path = filepath.Base(filepath.Clean(set.Path))
	d.Name, d.Run, d.Facts, d.Cut, d.Calibrations = set.Path, &set.Run, set.Run.Facts, set.Cut, set.Calibrations
	if set.Run.AB != nil {
		sides, err := compare.Pairs(set, defaultMargin)
		if err != nil {
			return d, err
		}
		text, err := compare.Write(sides, "markdown")
		if err != nil {
			return d, err
		}
		d.Sides = string(text)
	}
	d.Samples = make(map[string][]*stability.Figures, len(set.Cells))
	for i := range set.Cells {
		c := &set.Cells[i]
		d.Rows = append(d.Rows, c.Row)
		d.Samples[c.Row.Cell] = c.Samples
		d.Notes = append(d.Notes, c.Notes...)
		d.Strips = append(d.Strips, c.Strip)
	}
	return d, nil
}
