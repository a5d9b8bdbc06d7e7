package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"msgbench/bench"
	"msgbench/machine"
	"msgbench/pinning"
	"msgbench/results"
)

// hostOptions say where the processes that listen run, where that is not here.
type hostOptions struct{ name, command, address string }

func (o *hostOptions) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.name, "server-host", "",
		"run the server, and the broker, on this `host`, by ssh; round trips over tcp, zmq-tcp, nng-tcp and broker only (docs/machines.md)")
	f.StringVar(&o.command, "server-command", "", "`words` that start msgbench there (default: ssh HOST msgbench); they are split at blanks")
	f.StringVar(&o.address, "server-address", "", "IPv4 `address` that the server listens on and is dialled at (default: that of the host's name)")
}

// given tells whether there is another host; it is an error to say something of one that is not there.
func (o *hostOptions) given() (bool, error) {
	switch {
	case o.name == "" && (o.command != "" || o.address != ""):
		return false, errors.New("--server-command and --server-address go with --server-host")
	case strings.HasPrefix(o.name, "-") || strings.ContainsAny(o.name, " \t\n"):
		return false, fmt.Errorf("--server-host %q: want the name of a host", o.name)
	}
	return o.name != "", nil
}

// reach asks the host who it is.
func (o *hostOptions) reach(ctx context.Context) (*bench.Host, error) {
	command := strings.Fields(o.command)
	if len(command) == 0 {
		// Never a question for a password, and an end when the network is cut.
		command = []string{"ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3",
			o.name, "msgbench"}
	}
	h, err := bench.ReachHost(ctx, o.name, command, o.address)
	if err != nil {
		return nil, fmt.Errorf("--server-host: %w", err)
	}
	return h, nil
}

// rejoin finds the other host of the run at path again, where it has one, and checks that both machines are those of the run.
// It returns what this one is like now.
func (c *chosen) rejoin(ctx context.Context, path string, run results.Run) (env machine.Environment, err error) {
	if s := run.Server; s != nil {
		h, err := bench.ReachHost(ctx, s.Name, s.Command, s.Address)
		if err != nil {
			return env, &exitError{exitFailed, fmt.Errorf("%s: %w", path, err)}
		}
		c.host = h
	} else if err := c.plan.Check(c.topology); err != nil {
		return env, usagef("%s: %w", path, err)
	}
	if err := c.place(); err != nil {
		return env, usagef("%s: %w", path, err)
	}
	if err := bench.CheckRights(c.policy, c.plan, c.topology, c.cells); err != nil {
		return env, usagef("%s: %w", path, err)
	}
	env = machine.Describe(ctx, machine.Options{Topology: &c.topology})
	if name := c.machine(env.Name()); name != run.Machine {
		return env, usagef("%s was measured on %q, this is %q: rows of two machines don't mix", path, run.Machine, name)
	}
	return env, nil
}

// machine is what rows of this choice are of: the client's machine and, on two hosts, the server's.
func (c *chosen) machine(here string) string {
	switch {
	case c.host == nil:
		return here
	case c.host.Here:
		return here + " → itself"
	}
	return here + " → " + c.host.Machine
}

// hostFacts are what a reader has to know of the other host.
func (c *chosen) hostFacts() []results.Fact {
	h := c.host
	if h == nil {
		return nil
	}
	hosts := "2: the client here, the server and the broker on " + h.Name
	if h.Here {
		hosts += ", which is the same machine under another name"
	}
	return []results.Fact{
		{Key: "hosts", Value: hosts},
		{Key: "server machine", Value: h.Machine},
		{Key: "server kernel", Value: h.Kernel},
		{Key: "server address", Value: h.Address},
		{Key: "server command", Value: strings.Join(h.Command, " ")},
		{Key: "server allowed CPUs", Value: pinning.FormatList(h.Topology.Allowed)},
	}
}
