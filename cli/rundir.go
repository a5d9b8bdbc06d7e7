package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"msgbench/report"
	"msgbench/report/html"
	"msgbench/report/source"
	"msgbench/results"
)

// writeReports writes what follows from the journal of a run directory into it.
func writeReports(dir string) (set source.Set, d report.Document, err error) {
	if set, err = source.LoadRun(dir); err != nil {
		return set, d, err
	}
	if d, err = documentOf(set); err != nil {
		return set, d, err
	}
	csv, err := d.Table.MarshalCSV()
	if err != nil {
		return set, d, err
	}
	page, err := html.Page(d)
	if err != nil {
		return set, d, err
	}
	for _, f := range []struct {
		name string
		data []byte
	}{
		{results.CSVFile, csv},
		{results.ReportFile, []byte(report.Markdown(d))},
		{results.PageFile, page},
	} {
		if err := results.WriteFile(filepath.Join(dir, f.name), f.data); err != nil {
			return set, d, err
		}
	}
	return set, d, nil
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
