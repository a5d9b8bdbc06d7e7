package cli

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"msgbench/machine"
	"msgbench/pinning"
)

// doctorRoles is how many processes a cell has at least.
const doctorRoles = 2

func newDoctor(s streams) *cobra.Command {
	var asJSON, cores bool
	var over time.Duration
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Tell what on this machine will spoil results, and what to do about it",
		Long: `Look at this machine and tell what on it will spoil results, how, and what would change it. Nothing is changed.

The grade: A nothing found; B warnings, usable with the reservations that they name; C one thing that misleads; D several.

Exit status: 0, whatever was found.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if over < 0 || over > time.Minute {
				return usagef("--watch %s: want a duration from 0s to 1m", over)
			}
			if !asJSON && over > 0 {
				fmt.Fprintf(s.err, "watching this machine for %s\n", over)
			}
			env := machine.Describe(cmd.Context(), machine.Options{StealOver: over})
			probes := machine.Probe(cmd.Context(), os.TempDir())
			if t, err := pinning.System(); err == nil && t.CanPin && cores {
				probes.Cores = machine.MeasureCores(cmd.Context(), t.Allowed)
			}
			checks := machine.Checks(env, probes, doctorRoles)
			if asJSON {
				return s.writeJSON(struct {
					Grade       string              `json:"grade"`
					Worst       string              `json:"worst"`
					Checks      []machine.Check     `json:"checks"`
					Cores       *machine.CoreMap    `json:"cores,omitempty"`
					Environment machine.Environment `json:"environment"`
				}{machine.Grade(checks), machine.Worst(checks), checks, probes.Cores, env})
			}
			return s.printChecks(env, checks, probes.Cores)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().DurationVar(&over, "watch", 5*time.Second, "how long to watch for steal and other load")
	cmd.Flags().BoolVar(&cores, "cores", true, "measure how long a cache line takes between CPUs (2 s)")
	return cmd
}

// printChecks prints a line a check and below it the effect on results and, where it is not well, the way out.
func (s streams) printChecks(env machine.Environment, checks []machine.Check, cores *machine.CoreMap) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", env.Name())
	n := map[string]int{}
	for _, c := range checks {
		n[c.Status]++
		fmt.Fprintf(&b, "%-8s %-20s %s\n", c.Status, c.Name, c.Found)
		fmt.Fprintf(&b, "%-8s %-20s %s\n", "", "", c.Effect)
		if c.Fix != "" && (c.Status == machine.Warn || c.Status == machine.Bad) {
			fmt.Fprintf(&b, "%-8s %-20s fix: %s\n", "", "", c.Fix)
		}
	}
	if table := cores.Table(); table != "" {
		b.WriteString("\n" + table)
	}
	fmt.Fprintf(&b, "\ngrade %s: %d ok, %d warn, %d bad, %d unknown\n", machine.Grade(checks), n[machine.OK], n[machine.Warn], n[machine.Bad],
		n[machine.Unknown])
	_, err := s.out.Write([]byte(b.String()))
	return err
}
