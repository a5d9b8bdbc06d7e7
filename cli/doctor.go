package cli

import "github.com/spf13/cobra"

func newDoctor(s streams) *cobra.Command {
	return &cobra.Command{Use: "doctor", Hidden: true, RunE: func(*cobra.Command, []string) error { return nil }}
}
