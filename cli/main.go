// Package cli is the command line: one file a command, each a function of its options and streams.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"msgbench/bench"
	"msgbench/bench/worker"
	"msgbench/machine"
)

// The exit codes.
const (
	exitOK          = 0
	exitFailed      = 1 // could not run, or a cell failed, or all were skipped
	exitUsage       = 2
	exitBroken      = 3 // a floor is broken, or a comparison found worse than allowed
	exitUnstable    = 4 // unstable, inconclusive or missing
	exitInterrupted = 130
)

// oneSignal is within how much time two signals are one.
const oneSignal = 200 * time.Millisecond

// exitError is an error with an exit code; without text nothing more is to be said.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usage makes err one of bad usage or configuration.
func usage(err error) error { return &exitError{exitUsage, err} }

func usagef(format string, args ...any) error { return usage(fmt.Errorf(format, args...)) }

// streams are where a command reads and writes.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// Main runs msgbench with the words after its name and returns the exit code.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	// The processes of a run skip the command line's own work.
	if len(args) > 0 {
		switch args[0] {
		case "worker":
			return exitCode(worker.Main(args[1:], stdin, stdout), stderr)
		case "janitor":
			if len(args) == 2 {
				return exitCode(bench.JanitorMain(args[1], stdin), stderr)
			}
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The second Ctrl-C leaves at once. timeout(1) and some shells signal twice, the process and its group: that is one.
	context.AfterFunc(ctx, func() { time.AfterFunc(oneSignal, stop) })
	root := newRoot(streams{in: stdin, out: stdout, err: stderr})
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	return exitCode(root.ExecuteContext(ctx), stderr)
}

// exitCode prints what went wrong, in one line, and gives its code.
func exitCode(err error, stderr io.Writer) int {
	if err == nil {
		return exitOK
	}
	if text := strings.Join(strings.Fields(err.Error()), " "); text != "" {
		fmt.Fprintf(stderr, "msgbench: %s\n", text)
	}
	var e *exitError
	switch {
	case errors.As(err, &e):
		return e.code
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	}
	return exitFailed
}

func newRoot(s streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "msgbench",
		Short: "Compare messaging transports on one machine, under one stopwatch",
		Long: `msgbench runs messaging transports side by side on one machine: in fresh pinned processes, under one clock,
every cell several times. It says which results are stable enough to publish.`,
		Version:       machine.Version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("unknown command %q (msgbench --help lists them)", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetVersionTemplate("msgbench {{.Version}}\n")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usage(err) })
	root.AddCommand(newRun(s), newMerge(s), newPlan(s), newList(s), newPeers(s), newBroker(s), newReport(s), newImport(s), newDoctor(s),
		newCompare(s), newCheck(s), newExport(s))
	return root
}

// oneOf is the Args of a command with one argument named what.
func oneOf(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usagef("%s: want one argument: %s", cmd.CommandPath(), what)
		}
		return nil
	}
}

// atMostOne is the Args of a command with an optional argument named what.
func atMostOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 {
			return usagef("%s: want at most one argument, %s; got %q too", cmd.CommandPath(), what, args[1])
		}
		return nil
	}
}

// writeJSON prints v for programs.
func (s streams) writeJSON(v any) error { return encodeJSON(s.out, v) }
