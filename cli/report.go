package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"msgbench/report"
	"msgbench/results"
	"msgbench/stability"
)

func newReport(s streams) *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "report DIR|CSV",
		Short: "Make the markdown report of a run directory or of its CSV",
		Long: `Make the markdown report of a run directory (from its journal, with notes) or of a results.csv alone. The same input
gives the same bytes.`,
		Args: oneOf("a run directory or a results.csv"),
		RunE: func(_ *cobra.Command, args []string) error {
			d, err := load(args[0])
			if err != nil {
				return usage(err)
			}
			return s.writeOutput(out, []byte(report.Markdown(d)))
		},
	}
	cmd.Flags().StringVarP(&out, "output", "o", "-", "write to this `file`; - is standard output")
	return cmd
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
		return loadRun(path)
	}
	f, err := os.Open(path)
	if err != nil {
		return report.Document{}, err
	}
	defer f.Close()
	t, err := results.ParseCSV(path, f)
	return report.Document{Table: t}, err
}

// loadRun makes the document of a run from its journal.
func loadRun(dir string) (d report.Document, err error) {
	run, err := results.ReadRun(dir)
	if err != nil {
		return d, err
	}
	journal := filepath.Join(dir, results.JournalFile)
	samples, cut, err := results.ReadJournal(journal)
	if err != nil {
		return d, err
	}
	d.Facts, d.Cut = run.Facts, cut
	if d.Rows, err = stability.Rows(run, samples); err != nil {
		return d, fmt.Errorf("%s: %w", journal, err)
	}
	if d.Notes, err = stability.Notes(run, samples); err != nil {
		return d, fmt.Errorf("%s: %w", journal, err)
	}
	if d.Strips, err = stability.Strips(run, samples); err != nil {
		return d, fmt.Errorf("%s: %w", journal, err)
	}
	return d, nil
}
