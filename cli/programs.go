package cli

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"msgbench/bench"
	"msgbench/bench/areg"
	"msgbench/machine"
	"msgbench/peers"
	"msgbench/results"
)

// programsOf are the programs of others that are sides of the cells: where they are, and what tells them from other builds.
func programsOf(c chosen) ([]results.Program, error) {
	var list []results.Program
	for _, name := range slices.Sorted(maps.Keys(c.peers)) {
		p := c.peers[name]
		used := slices.ContainsFunc(c.cells, func(cell results.Cell) bool { return cell.Client == name || cell.Server == name })
		if !p.Plugged || !used {
			continue
		}
		path, err := filepath.Abs(p.Path)
		if err != nil {
			return nil, err
		}
		sum, err := machine.FileSum(path)
		if err != nil {
			return nil, fmt.Errorf("--peer %s: %w", name, err)
		}
		list = append(list, results.Program{Peer: name, Path: path, SHA256: sum})
	}
	if c.areg != nil {
		sum, err := c.areg.Sum()
		if err != nil {
			return nil, fmt.Errorf("--areg: %w", err)
		}
		list = append(list, results.Program{Peer: areg.Name, Path: c.areg.Dir, SHA256: sum})
	}
	return list, nil
}

// samePrograms finds the programs of others again that a run was made with: where the flags say, else where they were. It
// refuses others, whose figures would stand in one row with those of the run. c.missing says which can't be built.
func (c *chosen) samePrograms(ctx context.Context, run results.Run, plugged []string, aregDir string) error {
	if err := plugIn(ctx, plugged, c.peers); err != nil {
		return err
	}
	for _, was := range run.Programs {
		if was.Peer == areg.Name {
			continue
		}
		p, given := c.peers[was.Peer]
		if !given || !p.Plugged {
			var err error
			if p, err = bench.DescribePeer(ctx, was.Path); err != nil {
				return fmt.Errorf("the peer %s was plugged in from %s: %w (--peer %s=PATH says where it is now)", was.Peer, was.Path, err, was.Peer)
			}
			p.Plugged = true
			c.peers[was.Peer] = p
		}
		sum, err := machine.FileSum(p.Path)
		if err != nil {
			return err
		}
		if sum != was.SHA256 {
			return fmt.Errorf("the peer %s at %s is another program than the run began with (sha256 %.12s, was %.12s): rows of two "+
				"programs don't mix", was.Peer, p.Path, sum, was.SHA256)
		}
	}
	for _, cell := range c.cells {
		for _, name := range []string{cell.Client, cell.Server} {
			if _, ok := c.peers[name]; !ok {
				return fmt.Errorf("the peer %s is a program that was plugged in: say --peer %s=PATH again", name, name)
			}
		}
	}
	c.missing = findPeers(ctx, c.cells, c.peers, peers.Build)
	return c.sameAreg(ctx, run, aregDir)
}

// sameAreg is samePrograms for areg-sdk.
func (c *chosen) sameAreg(ctx context.Context, run results.Run, dir string) error {
	i := slices.IndexFunc(run.Programs, func(p results.Program) bool { return p.Peer == areg.Name })
	if i < 0 || !c.needsAreg() {
		return c.findAreg(ctx, dir, true)
	}
	was := run.Programs[i]
	if dir == "" {
		dir = was.Path
	}
	if err := c.findAreg(ctx, dir, true); err != nil || c.areg == nil {
		return err
	}
	sum, err := c.areg.Sum()
	if err != nil {
		return err
	}
	if sum != was.SHA256 {
		return fmt.Errorf("areg-sdk in %s is another build than the run began with (sha256 %.12s, was %.12s): rows of two builds don't mix",
			c.areg.Dir, sum, was.SHA256)
	}
	return nil
}
