package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"msgbench/bench"
	"msgbench/peers"
	"msgbench/results"
)

type planOptions struct {
	selection
	json bool
}

func newPlan(s streams) *cobra.Command {
	o := &planOptions{}
	cmd := &cobra.Command{
		Use:   "plan [SUITE|FILE]",
		Short: "Show the cells of a run, their order and the time they will take; run nothing",
		Args:  atMostOne("a suite or a suite file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := o.resolve(cmd, args)
			if err != nil {
				return err
			}
			c.missing = findPeers(cmd.Context(), c.cells, c.peers, peers.Look)
			if err := c.findAreg(cmd.Context(), o.areg, false); err != nil {
				return err
			}
			p := makePlan(c)
			if o.json {
				return s.writeJSON(p)
			}
			return p.print(s)
		},
	}
	o.flags(cmd)
	cmd.Flags().BoolVar(&o.json, "json", false, "print JSON")
	return cmd
}

// planned is the JSON of a plan.
type planned struct {
	Suite        string         `json:"suite"`
	Seed         uint64         `json:"seed"`
	Placement    string         `json:"placement"`
	Placements   []plannedPlace `json:"placements"`
	Policy       results.Policy `json:"policy"`
	Seconds      float64        `json:"seconds"`                     // about, at least, without reruns
	MaxSeconds   float64        `json:"max_seconds"`                 // about, at most: more than Seconds with a precision
	RerunSeconds float64        `json:"rerun_seconds"`               // what reruns may add at most, about
	DisturbedSec float64        `json:"disturbed_seconds,omitempty"` // what disturbed samples may add at most, about, reruns aside
	CeilingSecs  float64        `json:"ceiling_seconds,omitempty"`   // of the search for ceilings, about
	Cells        []plannedCell  `json:"cells"`
	Rounds       [][]string     `json:"rounds"` // keys in the order of each round
}

// plannedPlace is where the roles of some cells will run.
type plannedPlace struct {
	Where string   `json:"where"`
	Cells int      `json:"cells"`
	Notes []string `json:"notes,omitempty"`
}

type plannedCell struct {
	Key     string  `json:"key"`
	Seconds float64 `json:"seconds"` // one sample, about
	Skip    string  `json:"skip,omitempty"`
}

func makePlan(c chosen) planned {
	p := planned{Suite: c.suite.Name, Seed: c.seed, Placement: placementText(c), Policy: c.policy}
	for _, at := range c.placed {
		p.Placements = append(p.Placements, plannedPlace{at.where, at.cells, at.notes})
	}
	skip := c.skipReasons()
	var run []results.Cell
	for _, cell := range bench.Arrange(c.policy, c.cells) {
		p.Cells = append(p.Cells, plannedCell{cell.Key(), bench.SampleTime(c.policy, cell).Seconds(), skip(cell)})
		if skip(cell) == "" {
			run = append(run, cell)
		}
	}
	least, _ := bench.SampleCounts(c.policy)
	for r := range least {
		var keys []string
		for _, cell := range bench.Order(c.policy, c.ab, c.seed, r, run) {
			keys = append(keys, cell.Key())
		}
		p.Rounds = append(p.Rounds, keys)
	}
	p.Seconds = bench.RunTime(c.policy, run).Seconds()
	p.MaxSeconds = bench.MaxRunTime(c.policy, run).Seconds()
	p.DisturbedSec = bench.DisturbedTime(c.policy, run).Seconds()
	p.CeilingSecs = bench.CeilingTime(c.policy, run).Seconds()
	if c.policy.Reruns > 0 && least >= 3 {
		p.RerunSeconds = p.MaxSeconds
	}
	return p
}

// summary says in a line what will be measured and how long that takes.
func (p planned) summary() string {
	least, most := bench.SampleCounts(p.Policy)
	text := fmt.Sprintf("suite %s: %d cells × %d samples, about %s", p.Suite, len(p.Cells), least, seconds(p.Seconds))
	if p.Policy.Precision > 0 {
		text = fmt.Sprintf("suite %s: %d cells × %d to %d samples, about %s to %s", p.Suite, len(p.Cells), least, most, seconds(p.Seconds), seconds(p.MaxSeconds))
	}
	n := 0
	for _, c := range p.Cells {
		if c.Skip != "" {
			n++
		}
	}
	if n > 0 {
		text += fmt.Sprintf("; %d can't run here and are skipped", n)
	}
	if p.RerunSeconds > 0 {
		text += fmt.Sprintf("; reruns of cells that fall short may add up to %s", seconds(p.RerunSeconds))
	}
	if p.DisturbedSec >= 0.5 {
		text += fmt.Sprintf("; disturbed samples up to %s", seconds(p.DisturbedSec))
	}
	if p.CeilingSecs > 0 {
		text += fmt.Sprintf("; the search for ceilings takes about %s", seconds(p.CeilingSecs))
	}
	return text
}

func (p planned) print(s streams) error {
	w := s.out
	fmt.Fprintln(w, p.summary())
	fmt.Fprintf(w, "seed %d\n\nplacement:\n", p.Seed)
	for _, at := range p.Placements {
		fmt.Fprintf(w, "  %d cells: %s\n", at.Cells, at.Where)
		for _, n := range at.Notes {
			fmt.Fprintf(w, "    %s\n", n)
		}
	}
	fmt.Fprint(w, "\ncells:\n")
	for _, c := range p.Cells {
		note := ""
		if c.Skip != "" {
			note = "  skipped: " + c.Skip
		}
		fmt.Fprintf(w, "  %s%s\n", c.Key, note)
	}
	if p.Policy.Precision > 0 {
		fmt.Fprintf(w, "\nafter %d rounds those cells go on whose intervals are wider than ±%g %%\n", len(p.Rounds), 100*p.Policy.Precision)
	}
	for i, keys := range p.Rounds {
		fmt.Fprintf(w, "\nround %d:\n", i+1)
		for _, k := range keys {
			fmt.Fprintf(w, "  %s\n", k)
		}
	}
	return nil
}

// seconds is a number of seconds as 1m32s.
func seconds(v float64) string { return human(time.Duration(v * float64(time.Second))) }
