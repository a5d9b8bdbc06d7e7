package cli

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"msgbench/machine"
)

// doctorRoles is how many processes a cell has at least.
const doctorRoles = 2

func newDoctor(s streams) *cobra.Command {
	var asJSON bool
	var over time.Duration
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Tell what on this machine will spoil results, and what to do about it",
		Long: `Look at this machine and tell what on it will spoil results, how, and what would change it. Nothing is changed.

Exit status: 0, whatever was found.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if over < 0 || over > time.Minute {
				return usagef("--watch %s: want a duration from 0s to 1m", over)
			}
			env := machine.Describe(cmd.Context(), machine.Options{StealOver: over})
			checks := machine.Checks(env, machine.Probe(cmd.Context(), os.TempDir()), doctorRoles)
			if asJSON {
				return s.writeJSON(struct {
					Worst       string              `json:"worst"`
					Checks      []machine.Check     `json:"checks"`
					Environment machine.Environment `json:"environment"`
				}{machine.Worst(checks), checks, env})
			}
			return s.printChecks(env, checks)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().DurationVar(&over, "watch", time.Second, "how long to watch for steal and other load")
	return cmd
}

// printChecks prints a line a check, and below it the effect and the way out where it is not well.
func (s streams) printChecks(env machine.Environment, checks []machine.Check) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", env.Name())
	n := map[string]int{}
	for _, c := range checks {
		n[c.Status]++
		fmt.Fprintf(&b, "%-8s %-20s %s\n", c.Status, c.Name, c.Found)
		if c.Status != machine.Warn && c.Status != machine.Bad {
			continue
		}
		fmt.Fprintf(&b, "%-8s %-20s %s\n", "", "", c.Effect)
		if c.Fix != "" {
			fmt.Fprintf(&b, "%-8s %-20s fix: %s\n", "", "", c.Fix)
		}
	}
	fmt.Fprintf(&b, "\n%d ok, %d warn, %d bad, %d unknown\n", n[machine.OK], n[machine.Warn], n[machine.Bad],
		n[machine.Unknown])
	_, err := s.out.Write([]byte(b.String()))
	return err
}
