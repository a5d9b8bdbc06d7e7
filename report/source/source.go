// Package source reads a run directory or a CSV into what comparisons, floors and exports are made of: each cell with its
// row and the samples behind it.
package source

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"msgbench/results"
	"msgbench/stability"
)

// Set is what a run directory or a CSV holds.
type Set struct {
	Path         string
	Run          results.Run // zero for a CSV without a run beside it, but for Facts
	Cells        []Cell      // all that were planned; of a CSV, its rows
	Calibrations stability.Calibrations
	columns      []string
	Cut          int // bytes at the end of the journal that a crash had cut off and that were left out
}

// Cell is a cell, its row, and the samples that the row joins.
type Cell struct {
	stability.Judged
	NoSamples string // why there are no samples; empty where there are, and where none was valid
}

// Load reads a run directory (its journal decides, not its CSV) or a CSV, and with it the journal that stands beside it.
// columns are those whose values are wanted for each sample too. Errors name the file and, where there is one, the line.
func Load(path string, columns ...string) (Set, error) {
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return Set{}, fmt.Errorf("%s: no such file or directory (want a run directory or a results.csv)", path)
	}
	if err != nil {
		return Set{}, err
	}
	if info.IsDir() {
		return LoadRun(path, columns...)
	}
	t, err := results.ReadCSV(path)
	if err != nil {
		return Set{}, err
	}
	return withJournal(path, t, columns)
}

// LoadRun is Load for a run directory.
func LoadRun(dir string, columns ...string) (set Set, err error) {
	run, err := results.ReadRun(dir)
	if err != nil {
		return Set{}, err
	}
	journal := filepath.Join(dir, results.JournalFile)
	index, closeIndex, err := results.OpenIndex(journal)
	if errors.Is(err, os.ErrNotExist) {
		return Set{}, fmt.Errorf("%s: no %s there: nothing was measured", dir, results.JournalFile)
	}
	if err != nil {
		return Set{}, err
	}
	defer func() { err = errors.Join(err, closeIndex()) }()
	set = Set{Path: dir, Run: run, Cut: index.Cut, columns: columns}
	for s, err := range index.Of(results.CalibrationCell) {
		if err != nil {
			return Set{}, err
		}
		set.Calibrations.Add(s)
	}
	judged, err := stability.Judge(run, index, columns...) // the last that the index is there for
	if err != nil {
		return Set{}, fmt.Errorf("%s: %w", journal, err)
	}
	set.Cells = make([]Cell, len(judged))
	for i, j := range judged {
		set.Cells[i] = Cell{Judged: j}
	}
	return set, nil
}

// withJournal gives the rows of a CSV the samples of the journal beside it, where these are the samples of that row.
func withJournal(path string, t results.Table, columns []string) (Set, error) {
	s := Set{Path: path, Run: results.Run{Facts: t.Facts}, Cells: make([]Cell, 0, len(t.Rows))}
	for _, r := range t.Rows {
		s.Cells = append(s.Cells, Cell{Judged: stability.Judged{Cell: cellOf(r), Row: r}, NoSamples: "there is no journal beside the CSV"})
	}
	dir := filepath.Dir(path)
	for _, name := range []string{results.RunFile, results.JournalFile} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return s, nil
		}
	}
	run, err := LoadRun(dir, columns...)
	if err != nil {
		return Set{}, err
	}
	run.Run.Facts = t.Facts
	s.Run, s.Cut, s.Calibrations, s.columns = run.Run, run.Cut, run.Calibrations, columns
	byKey := run.ByKey()
	for i := range s.Cells {
		c := &s.Cells[i]
		j := byKey[c.Row.Cell]
		c.NoSamples = "the journal beside the CSV does not hold the samples of this row"
		if j != nil && j.Row.Verdict == c.Row.Verdict && j.Row.Throughput == c.Row.Throughput && j.Row.Samples == c.Row.Samples {
			c.Cell, c.Samples, c.NoSamples = j.Cell, j.Samples, ""
		}
	}
	return s, nil
}

// Unique is an error when a cell has several rows, as in the CSV of several machines: which one is meant is not known then.
func (s *Set) Unique() error {
	seen := map[string]bool{}
	for _, c := range s.Cells {
		if seen[c.Row.Cell] {
			return fmt.Errorf("%s: the cell %s stands there twice", s.Path, c.Row.Cell)
		}
		seen[c.Row.Cell] = true
	}
	return nil
}

// Select keeps the cells whose key matches one of the globs, all if there are none. A glob that matches none is an error.
func (s *Set) Select(globs []string) error {
	if len(globs) == 0 {
		return nil
	}
	keep := make([]bool, len(s.Cells))
	for _, g := range globs {
		any := false
		for i := range s.Cells {
			if results.Glob(g, s.Cells[i].Row.Cell) {
				keep[i], any = true, true
			}
		}
		if !any {
			return fmt.Errorf("--cell %q matches none of the %d cells of %s", g, len(s.Cells), s.Path)
		}
	}
	var kept []Cell
	for i, c := range s.Cells {
		if keep[i] {
			kept = append(kept, c)
		}
	}
	s.Cells = kept
	return nil
}

// ByKey finds cells by their key.
func (s *Set) ByKey() map[string]*Cell {
	m := make(map[string]*Cell, len(s.Cells))
	for i := range s.Cells {
		m[s.Cells[i].Row.Cell] = &s.Cells[i]
	}
	return m
}

// Values gives a column, one of those of Load, for each sample of a cell.
func (s *Set) Values(c *Cell, column string) []results.Num {
	i := slices.Index(s.columns, column)
	if i < 0 && len(c.Samples) > 0 {
		panic("not loaded: " + column) // a mistake of the caller
	}
	values := make([]results.Num, len(c.Samples))
	for k, f := range c.Samples {
		values[k] = f.Columns[i]
	}
	return values
}

// Fact is the value of a fact, empty if there is none.
func (s *Set) Fact(key string) string { return results.Table{Facts: s.Run.Facts}.Fact(key) }

// cellOf is the cell of a row. Dimensions that have a column are taken from it; those away from their default stand at the
// end of the key.
func cellOf(r results.Row) results.Cell {
	c := results.Cell{
		Scenario: r.Scenario, Transport: r.Transport, Client: r.Client, Server: r.Server, Payload: results.NoPayload,
		Dims: map[string]string{}, Defaults: map[string]string{},
	}
	if v, ok := r.Payload.Value(); ok {
		c.Payload = int(v)
	}
	c.Rate, _ = strconv.Atoi(r.TargetRPS) // "max" is 0
	for name, v := range map[string]string{
		"wait": r.Wait, "mode": r.Mode, "depth": r.Depth, "subscribers": r.Subscribers, "scope": r.Scope, "pin": r.Pin,
	} {
		if v != "" {
			c.Defaults[name] = v
		}
	}
	if rest, ok := strings.CutPrefix(r.Cell, c.Key()+"/"); ok {
		for dim := range strings.SplitSeq(rest, "/") {
			if name, v, ok := strings.Cut(dim, "="); ok {
				c.Dims[name] = v
				delete(c.Defaults, name)
			}
		}
	}
	return c
}
