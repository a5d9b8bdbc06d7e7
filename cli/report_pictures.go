package cli

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"msgbench/report"
	"msgbench/report/charts"
	"msgbench/report/html"
	"msgbench/results"
)

// pictures writes what --html and --charts ask for, and tells whether that is all that was asked for.
func (o *reportOptions) pictures(cmd *cobra.Command, docs []report.Document, s streams) (done bool, err error) {
	if o.html == "" && o.charts == "" {
		return false, nil
	}
	if o.charts != "" {
		if len(docs) > 1 {
			return false, usagef("--charts: want one run: charts of two would take each other's names")
		}
		if err := writeCharts(o.charts, docs[0]); err != nil {
			return false, err
		}
	}
	if o.html != "" {
		page, err := html.Page(docs...)
		if err != nil {
			return false, err
		}
		if err := s.writeOutput(o.html, page); err != nil {
			return false, err
		}
	}
	return !cmd.Flags().Changed("output"), nil
}

// writeCharts writes each chart twice. The directory may be there; files of the same names are replaced.
func writeCharts(dir string, d report.Document) error {
	list := charts.Of(charts.Split(d.AllRows()), d.Strips)
	if len(list) == 0 {
		return errors.New("--charts: no row has a figure to draw")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return usagef("--charts %s: %w", dir, err)
	}
	for _, c := range list {
		path := filepath.Join(dir, c.Name)
		if err := results.WriteFile(path+".svg", []byte(c.SVG())); err != nil {
			return err
		}
		png, err := c.PNG()
		if err != nil {
			return err
		}
		if err := results.WriteFile(path+".png", png); err != nil {
			return err
		}
	}
	return nil
}
