package cli

import (
	"context"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"msgbench/bench"
	"msgbench/bench/areg"
	"msgbench/peers"
	"msgbench/results"
	"msgbench/transports/all"
)

func newPeers(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "peers build",
		Short: "Build the peers in other languages",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("msgbench peers: unknown command %q (want build)", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return usagef("msgbench peers: want build") },
	}
	build := &cobra.Command{
		Use:   "build",
		Short: "Build every peer that this machine can, and say what the others lack",
		Long: `Compile every peer that this machine can (C with cc, Rust with rustc), from sources within msgbench, and say what the
others lack. Programs are kept by content in msgbench/peers of the user's cache, or in MSGBENCH_CACHE; "run" builds
what it needs by itself.

Exit status: 0 good, also where something is missing; 1 a compiler failed.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return buildPeers(cmd.Context(), s) },
	}
	cmd.AddCommand(build)
	return cmd
}

// buildPeers prints one line a peer, and what a compiler that fails says.
func buildPeers(ctx context.Context, s streams) error {
	failed := 0
	for _, p := range peers.Table {
		r := peers.Build(ctx, p, peers.Options{})
		switch r.State {
		case peers.Missing:
			fmt.Fprintf(s.out, "%s: missing: %s\n", p.Name, strings.TrimPrefix(r.Reason, "peer "+p.Name+": "))
		case peers.Failed:
			failed++
			fmt.Fprintf(s.out, "%s: failed\n", p.Name)
			fmt.Fprintf(s.err, "%s\n%s", r.Reason, r.Output)
		default:
			fmt.Fprintf(s.out, "%s: %s: %s\n", p.Name, r.State, r.Path)
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if failed > 0 {
		return &exitError{exitFailed, fmt.Errorf("%d of %d peers could not be compiled", failed, len(peers.Table))}
	}
	return nil
}

// catalogPeers are all peers that cells can name. Those of package peers have no path before they are built.
func catalogPeers() map[string]bench.Peer {
	known := map[string]bench.Peer{}
	for _, p := range peers.Table {
		known[p.Name] = bench.Peer{Transports: p.Transports, Scenarios: p.Scenarios, FixedPort: !p.Port0, NoNagle: p.NoNagle}
	}
	exe, _ := os.Executable() // without it, starting the worker will say so
	self := bench.Peer{Path: exe}
	for _, t := range all.Table() {
		self.Transports = append(self.Transports, t.Info().Name)
	}
	known[goPeer] = self
	known[areg.Name] = aregPeer()
	return known
}

// goPeer is msgbench itself.
const goPeer = bench.BuiltIn

var peerName = regexp.MustCompile(`^[a-z0-9]+$`)

// plugIn adds the programs of --peer NAME=PATH, each of which says what it can do. One may stand in for a peer that
// msgbench would build.
func plugIn(ctx context.Context, given []string, into map[string]bench.Peer) error {
	for _, g := range given {
		name, path, ok := strings.Cut(g, "=")
		if !ok || !peerName.MatchString(name) || path == "" {
			return fmt.Errorf("--peer %q: want NAME=PATH, the name of letters a to z and digits", g)
		}
		if name == goPeer {
			return fmt.Errorf("--peer %q: %s is msgbench itself", g, goPeer)
		}
		if name == areg.Name {
			return fmt.Errorf("--peer %q: areg-sdk speaks no worker protocol: --areg DIR says where it is", g)
		}
		if !strings.Contains(path, "/") {
			path = "./" + path // a file here, not a program somewhere in the PATH
		}
		p, err := bench.DescribePeer(ctx, path)
		if err != nil {
			return fmt.Errorf("--peer %s: %w", name, err)
		}
		p.Plugged = true
		into[name] = p
	}
	return nil
}

// findPeers gives the peers that cells need their programs, with find: peers.Build, or peers.Look for a plan that starts
// nothing. It returns why those that are not there are not.
func findPeers(ctx context.Context, cells []results.Cell, peersOf map[string]bench.Peer,
	find func(context.Context, peers.Peer, peers.Options) peers.Result) map[string]string {
	needed := map[string]bool{}
	for _, c := range cells {
		needed[c.Client], needed[c.Server] = true, true
	}
	missing := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(needed)) {
		p, ok := peers.Find(name)
		if !ok || peersOf[name].Path != "" {
			continue
		}
		r := find(ctx, p, peers.Options{})
		if r.State == peers.Missing || r.State == peers.Failed {
			missing[name] = r.Reason
			continue
		}
		built := peersOf[name]
		built.Path = r.Path
		peersOf[name] = built
	}
	return missing
}
