package cli

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"msgbench/bench"
	"msgbench/bench/areg"
	"msgbench/peers"
	"msgbench/scenarios"
	"msgbench/transports"
	"msgbench/transports/all"
)

// entry is one line of a list.
type entry struct {
	Name    string   `json:"name"`
	Summary string   `json:"summary"`
	Waits   []string `json:"waits,omitempty"`   // transports: the default first
	Skipped string   `json:"skipped,omitempty"` // transports and peers: why it can't run here
	Cells   int      `json:"cells,omitempty"`   // suites
	Path    string   `json:"path,omitempty"`    // peers
}

var lists = map[string]func() ([]entry, error){
	"transports": listTransports,
	"scenarios":  listScenarios,
	"peers":      listPeers,
	"suites":     listSuites,
}

func newList(s streams) *cobra.Command {
	const what = "transports, scenarios, peers or suites"
	var asJSON bool
	cmd := &cobra.Command{
		Use:       "list transports|scenarios|peers|suites",
		Short:     "List what can be measured",
		Args:      oneOf(what),
		ValidArgs: []string{"transports", "scenarios", "peers", "suites"},
		RunE: func(_ *cobra.Command, args []string) error {
			list, ok := lists[args[0]]
			if !ok {
				return usagef("msgbench list: unknown list %q (want %s)", args[0], what)
			}
			entries, err := list()
			if err != nil {
				return err
			}
			if asJSON {
				return s.writeJSON(entries)
			}
			w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
			for _, e := range entries {
				fmt.Fprintf(w, "%s\t%s\n", e.Name, e.text())
			}
			return w.Flush()
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (e entry) text() string {
	s := e.Summary
	if len(e.Waits) > 0 {
		s += " (wait: " + strings.Join(e.Waits, ", ") + ")"
	}
	if e.Cells > 0 {
		s += fmt.Sprintf(" (%d cells)", e.Cells)
	}
	if e.Skipped != "" {
		s += "; skipped here: " + e.Skipped
	}
	return s
}

func listTransports() ([]entry, error) {
	var out []entry
	for _, t := range all.Table() {
		info := t.Info()
		e := entry{Name: info.Name, Summary: info.Summary}
		for _, w := range info.Waits {
			e.Waits = append(e.Waits, string(w))
		}
		if p, ok := t.(transports.Prober); ok {
			if err := p.Probe(); err != nil {
				e.Skipped = err.Error()
			}
		}
		out = append(out, e)
	}
	info := areg.Transport{}.Info()
	e := listedAreg(entry{Name: info.Name, Summary: info.Summary, Waits: []string{string(info.Waits[0])}})
	e.Path = ""
	return append(out, e), nil
}

func listScenarios() ([]entry, error) {
	var out []entry
	for _, s := range scenarios.Table {
		out = append(out, entry{Name: s.Name, Summary: s.Summary})
	}
	return out, nil
}

func listPeers() ([]entry, error) {
	var out []entry
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	out = append(out, entry{Name: goPeer, Summary: "built in", Path: exe})
	for _, p := range peers.Table {
		r := peers.Look(context.Background(), p, peers.Options{})
		summary := p.Summary + ": " + strings.Join(p.Transports, ", ")
		var lacks []string
		for _, s := range scenarios.Table {
			if !slices.Contains(p.Scenarios, s.Name) {
				lacks = append(lacks, s.Name)
			}
		}
		if len(lacks) > 0 {
			summary += "; without " + strings.Join(lacks, ", ")
		}
		out = append(out, entry{Name: p.Name, Summary: summary, Path: r.Path, Skipped: r.Reason})
	}
	return append(out, listedAreg(entry{Name: areg.Name, Summary: "the real areg-sdk, built elsewhere: " + areg.Name})), nil
}

func listSuites() ([]entry, error) {
	var out []entry
	for _, n := range bench.SuiteNames() {
		s, err := bench.LoadSuite(n, catalog())
		if err != nil {
			return nil, err
		}
		out = append(out, entry{Name: n, Summary: s.Summary, Cells: len(s.Cells)})
	}
	return out, nil
}
