package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"msgbench/bench"
	"msgbench/machine"
	"msgbench/report/compare"
	"msgbench/report/source"
	"msgbench/results"
)

// against pairs the chosen cells by --ab or --baseline-binary, if one of them is given.
func (o *selection) against(ctx context.Context, c *chosen, cat bench.Catalog) error {
	setting, a, b := results.Build, results.BaselinePeer, "this"
	var baseline *results.Baseline
	switch {
	case o.ab != "" && o.baseline != "":
		return errors.New("--ab and --baseline-binary: two things are set against each other at a time; leave one out")
	case o.baseline != "":
		if _, taken := cat.Peers[results.BaselinePeer]; taken {
			return fmt.Errorf("--peer %s: --baseline-binary needs this name", results.BaselinePeer)
		}
		var err error
		if baseline, err = plugInBaseline(ctx, o.baseline, cat.Peers); err != nil {
			return err
		}
	case o.ab != "":
		name, values, _ := strings.Cut(o.ab, "=")
		list := strings.Split(values, ",")
		if name == results.Build || len(list) != 2 || name == "" || list[0] == "" || list[1] == "" {
			return fmt.Errorf("--ab %q: want a setting and two values, like client=go,libzmq or wait=block,spin", o.ab)
		}
		setting, a, b = name, list[0], list[1]
	default:
		return nil
	}
	ab, cells, left, err := cat.Against(c.cells, setting, a, b)
	if err != nil {
		return err
	}
	ab.Baseline = baseline
	c.ab, c.cells, c.left = &ab, cells, left
	return nil
}

// plugInBaseline adds the older build at path to the peers, and says what it is.
func plugInBaseline(ctx context.Context, path string, into map[string]bench.Peer) (*results.Baseline, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("--baseline-binary: %w", err)
	}
	sum, err := machine.FileSum(path)
	if err != nil {
		return nil, fmt.Errorf("--baseline-binary: %w", err)
	}
	p, err := bench.DescribePeer(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("--baseline-binary %s: %w", path, err)
	}
	this, err := machine.FileSum(into[goPeer].Path)
	if err != nil {
		return nil, fmt.Errorf("this program: %w", err)
	}
	if v := machine.VersionOf(path); v != "" {
		versions := map[string]string{"msgbench": v}
		for name, v := range p.Versions {
			versions[name] = v
		}
		p.Versions = versions
	}
	into[results.BaselinePeer] = p
	return &results.Baseline{Path: path, SHA256: sum, Versions: p.Versions, This: this}, nil
}

// sameBaseline plugs in the baseline of a run that goes on, if it has one and both builds are still those of the run.
func sameBaseline(ctx context.Context, run results.Run, into map[string]bench.Peer) error {
	if run.AB == nil || run.AB.Baseline == nil {
		return nil
	}
	was := run.AB.Baseline
	now, err := plugInBaseline(ctx, was.Path, into)
	switch {
	case err != nil:
		return err
	case now.SHA256 != was.SHA256:
		return fmt.Errorf("the baseline %s is another program than the run began with (sha256 %.12s, was %.12s)", was.Path, now.SHA256, was.SHA256)
	case now.This != was.This:
		return fmt.Errorf("this msgbench is another build than the run began with (sha256 %.12s, was %.12s)", now.This, was.This)
	}
	return nil
}

// abFacts are what the head of the CSV says of two sides.
func abFacts(ab *results.AB) []results.Fact {
	if ab == nil {
		return nil
	}
	how := "next to each other in each round, compared pair by pair"
	if ab.Baseline == nil {
		return []results.Fact{{Key: "A/B", Value: fmt.Sprintf("%s: A is %s, B is %s; %s", ab.Setting, ab.A, ab.B, how)}}
	}
	b := ab.Baseline
	value := fmt.Sprintf("%s, sha256 %.12s", b.Path, b.SHA256)
	if v := b.Versions["msgbench"]; v != "" {
		value += ", msgbench " + v
	}
	if b.SHA256 == b.This {
		value += ", the same program as this one"
	}
	return []results.Fact{
		{Key: "A/B", Value: fmt.Sprintf("two builds: A is the baseline, B is this one (sha256 %.12s); %s", b.This, how)},
		{Key: "baseline", Value: value},
	}
}

// printPairs prints the two sides of a run, if it has any, and gives the exit code of --fail-on.
func (o *runOptions) printPairs(set source.Set, s streams) (err error) {
	if set.Run.AB == nil {
		return nil
	}
	margin := defaultMargin
	if o.failOn != "" {
		if margin, err = parseFailOn(o.failOn); err != nil {
			return usage(err)
		}
	}
	r, err := compare.Pairs(set, margin)
	if err != nil {
		return err
	}
	data, err := compare.Write(r, "text")
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(s.out, "%s\n", data); err != nil || o.failOn == "" {
		return err
	}
	return compared(r, margin)
}
