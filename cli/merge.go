package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"msgbench/report"
	"msgbench/results"
)

func newMerge(s streams) *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "merge DIR...",
		Short: "Join the shards of a run into one run directory",
		Long: `Join the run directories that run --shard made, each maybe on another machine, into one. Shards of different suites,
seeds, versions or policies are refused, and so are doubled and missing ones. Tables keep machines apart: those of one kind, which
have one name, get numbers.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 1 {
				return usagef("msgbench merge: want the run directories of all shards")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if out == "" {
				return usagef("msgbench merge: --out is missing: the new run directory")
			}
			frugal()
			run, parts, err := joinShards(args)
			if err != nil {
				return usage(err)
			}
			dir, err := makeRunDir(out)
			if err != nil {
				return err
			}
			if err := results.WriteRun(dir, run); err != nil {
				return err
			}
			if err := joinJournals(dir, args, parts); err != nil {
				return errors.Join(err, os.RemoveAll(dir))
			}
			_, d, err := writeReports(dir)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(s.out, "%s\nrun directory: %s\n", report.Ranking(d.Rows)+report.Precision(d), dir)
			return err
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "the new run `directory`, which must not exist")
	return cmd
}

// joinJournals writes the samples of all shards into the journal of dir.
func joinJournals(dir string, dirs []string, parts []results.Run) error {
	j, err := results.OpenJournal(filepath.Join(dir, results.JournalFile))
	if err != nil {
		return err
	}
	order := 0
	for i, from := range dirs {
		if err := appendShard(j, filepath.Join(from, results.JournalFile), parts[i], &order); err != nil {
			return errors.Join(err, j.Close())
		}
	}
	return j.Close()
}

func appendShard(j *results.Journal, path string, shard results.Run, order *int) error {
	index, closeIndex, err := results.OpenIndex(path)
	if err != nil {
		return usage(err)
	}
	for x, err := range index.All() {
		if err != nil {
			return usage(errors.Join(err, closeIndex()))
		}
		x.Order = *order
		*order++
		if x.Calibration != nil {
			x.Calibration.Of = fmt.Sprintf("shard %s on %s", shard.Shard, shard.Machine)
		}
		if err := j.Append(x); err != nil {
			return errors.Join(err, closeIndex())
		}
	}
	return closeIndex()
}

// joinShards makes one run of the shards of a run, which it returns too.
func joinShards(dirs []string) (run results.Run, parts []results.Run, err error) {
	byKey := map[string]results.Cell{}
	from := map[string]string{}  // directory by key
	shard := map[string]string{} // directory by shard
	for i, dir := range dirs {
		r, err := results.ReadRun(dir)
		if err != nil {
			return run, nil, err
		}
		if r.Shard == "" {
			return run, nil, fmt.Errorf("%s: not a shard: run --shard i/n makes them", dir)
		}
		if i == 0 {
			run = r
		}
		if err := sameRun(dirs[0], run, dir, r); err != nil {
			return run, nil, err
		}
		if other, ok := shard[r.Shard]; ok {
			return run, nil, fmt.Errorf("%s and %s are both shard %s", other, dir, r.Shard)
		}
		shard[r.Shard] = dir
		for _, c := range r.Cells {
			if other, ok := from[c.Key()]; ok {
				return run, nil, fmt.Errorf("the cell %s is in %s and in %s", c.Key(), other, dir)
			}
			from[c.Key()], byKey[c.Key()] = dir, c
		}
		parts = append(parts, r)
	}
	var cells []results.Cell
	var missing []string
	for _, key := range run.Whole {
		c, ok := byKey[key]
		if !ok {
			missing = append(missing, key)
			continue
		}
		cells = append(cells, c)
	}
	if len(missing) > 0 {
		return run, nil, fmt.Errorf("%d of %d cells are in none of the shards, the first is %s", len(missing), len(run.Whole), missing[0])
	}
	machines := machinesOf(parts)
	run.Cells, run.Shard, run.Whole, run.Machines, run.Resumptions = cells, "", nil, machines, nil
	if names := distinct(machines); len(names) > 1 {
		run.Machine = strings.Join(names, "; ")
		run.Facts = slices.DeleteFunc(run.Facts, func(f results.Fact) bool {
			return f.Key != "msgbench" && f.Key != "suite" && f.Key != "seed" && f.Key != "policy" && f.Key != "order" && f.Key != "interval"
		})
		run.Facts = append([]results.Fact{{Key: "machine", Value: run.Machine}}, run.Facts...)
		run.Environment, run.Boot, run.Installation, run.Server = nil, "", "", nil
	}
	run.Facts = withResumed(run.Facts, parts)
	return run, parts, nil
}

// withResumed are the facts of a merged run, with those of all shards that tell when they went on.
func withResumed(facts []results.Fact, parts []results.Run) []results.Fact {
	went := func(f results.Fact) bool { return f.Key == resumed || f.Key == retried }
	var all []results.Fact
	for _, r := range parts {
		for _, f := range r.Facts {
			if went(f) {
				all = append(all, results.Fact{Key: f.Key, Value: "shard " + r.Shard + ": " + f.Value})
			}
		}
	}
	facts = slices.DeleteFunc(slices.Clone(facts), went)
	return slices.Insert(facts, min(1, len(facts)), all...)
}

// machinesOf is the name of the machine that measured each cell. Machines of one kind have one name: where shards come from
// several of them, a number tells them apart.
func machinesOf(parts []results.Run) map[string]string {
	boots := map[string][]string{} // by name, in the order of the shards
	for _, r := range parts {
		if !slices.Contains(boots[r.Machine], r.Boots()) {
			boots[r.Machine] = append(boots[r.Machine], r.Boots())
		}
	}
	machines := map[string]string{}
	for _, r := range parts {
		name := r.Machine
		if alike := boots[name]; len(alike) > 1 {
			name = fmt.Sprintf("%s (machine %d)", name, slices.Index(alike, r.Boots())+1)
		}
		for _, c := range r.Cells {
			machines[c.Key()] = name
		}
	}
	return machines
}

// sameRun says why two shards can't be parts of one run.
func sameRun(dirA string, a results.Run, dirB string, b results.Run) error {
	for _, x := range []struct{ what, a, b string }{
		{"suite", a.Suite, b.Suite},
		{"seed", fmt.Sprint(a.Seed), fmt.Sprint(b.Seed)},
		{"msgbench", a.Msgbench, b.Msgbench},
		{"build of msgbench", a.Build, b.Build},
		{"policy", fmt.Sprint(a.Policy), fmt.Sprint(b.Policy)},
		{"pin", a.Pin, b.Pin},
		{"number of shards", of(a.Shard), of(b.Shard)},
		{"cells of the whole", strings.Join(a.Whole, " "), strings.Join(b.Whole, " ")},
	} {
		if x.a != x.b {
			return fmt.Errorf("%s and %s are not parts of one run: %s %s and %s", dirA, dirB, x.what, shortened(x.a), shortened(x.b))
		}
	}
	return nil
}

func of(shard string) string { return shard[strings.LastIndex(shard, "/")+1:] }

func shortened(s string) string {
	if len(s) > 80 {
		return s[:77] + "…"
	}
	return s
}

func distinct(m map[string]string) []string {
	var out []string
	for _, v := range m {
		if !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	slices.Sort(out)
	return out
}
