package cli

import (
	"cmp"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"msgbench/bench"
	"msgbench/bench/areg"
	"msgbench/pinning"
	"msgbench/results"
	"msgbench/scenarios"
	"msgbench/transports"
	"msgbench/transports/all"
)

// selection is what `run` and `plan` have in common: which cells, how often, where.
type selection struct {
	globs    []string
	payload  []string
	depth    []string
	client   []string
	server   []string
	peer     []string
	areg     string
	ab       string
	baseline string
	pin      string
	seed     uint64
	seedSet  bool
	host     hostOptions
	settings map[string]string // of the policy, by name
}

// settingFlag is a flag that checks its value when it is read.
type settingFlag struct {
	setting bench.Setting
	into    map[string]string
}

func (f settingFlag) String() string { return f.into[f.setting.Name] }
func (f settingFlag) Type() string   { return "value" }

func (f settingFlag) Set(v string) error {
	var scratch results.Policy
	if err := f.setting.Set(&scratch, v); err != nil {
		return err
	}
	f.into[f.setting.Name] = v
	return nil
}

func (o *selection) flags(cmd *cobra.Command) {
	o.settings = map[string]string{}
	f := cmd.Flags()
	f.StringArrayVar(&o.globs, "cell", nil, "only cells whose key matches this `glob`; may be repeated (* matches / too)")
	f.StringSliceVar(&o.payload, "payload", nil, "`sizes` instead of the suite's, like 64,1KiB,64KiB")
	f.StringSliceVar(&o.depth, "depth", nil, "`depths` instead of the suite's, like 1,16")
	f.StringSliceVar(&o.client, "client", nil, "`peers` instead of the suite's clients, like go,c,rust")
	f.StringSliceVar(&o.server, "server", nil, "`peers` instead of the suite's servers")
	f.StringArrayVar(&o.peer, "peer", nil, "`NAME=PATH` of a program that speaks the worker protocol; may be repeated")
	f.StringVar(&o.areg, "areg", "", "`directory` of a built areg-sdk, for cells of the peer areg (default: "+aregEnv+")")
	f.StringVar(&o.ab, "ab", "", "set two settings against each other, pair by pair: `SETTING=A,B`, like client=go,libzmq")
	f.StringVar(&o.baseline, "baseline-binary", "", "set the msgbench at this `path` against this one, pair by pair")
	f.StringVar(&o.pin, "pin", "", "where processes run: `plan` is "+pinning.Help)
	o.host.flags(cmd)
	f.Uint64Var(&o.seed, "seed", 0, "seed of the order of cells (default: a random one, which is recorded)")
	for _, s := range bench.Settings {
		f.Var(settingFlag{s, o.settings}, s.Name, s.Usage)
	}
	f.Lookup("ceiling").NoOptDefVal = "true"
	f.Lookup("mlock").NoOptDefVal = "on"
	_ = cmd.RegisterFlagCompletionFunc("pin", cobra.FixedCompletions(
		[]string{"none", "spread", "same-core", "siblings", "node:", "client="}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("cell", func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		s, err := bench.LoadSuite(suiteArg(args), catalog())
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var keys []string
		for _, c := range s.Cells {
			keys = append(keys, c.Key())
		}
		return keys, cobra.ShellCompDirectiveNoFileComp
	})
	for _, flag := range []string{"client", "server"} {
		_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(catalog().PeerNames(), cobra.ShellCompDirectiveNoFileComp))
	}
	cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return bench.SuiteNames(), cobra.ShellCompDirectiveDefault
	}
}

// defaultSuite is what is measured when nothing else is said.
const defaultSuite = "quick"

func suiteArg(args []string) string {
	if len(args) > 0 {
		return args[0]
	}
	return defaultSuite
}

// chosen is what the flags and the suite say together.
type chosen struct {
	suite    bench.Suite
	cells    []results.Cell
	policy   results.Policy
	seed     uint64
	plan     pinning.Plan
	topology pinning.Topology
	placed   []placed
	peers    map[string]bench.Peer
	missing  map[string]string // peers that are not there, and why
	areg     *areg.Install     // where cells need it and it is there
	ab       *results.AB       // nil where nothing is set against each other
	left     int               // cells that can't be both sides
	host     *bench.Host       // of the processes that listen; nil: here
}

// resolve checks everything that can be checked before anything is measured. Its errors are those of bad usage.
func (o *selection) resolve(cmd *cobra.Command, args []string) (chosen, error) {
	c, err := o.choose(cmd, args)
	var e *exitError
	if err != nil && !errors.As(err, &e) {
		err = usage(err)
	}
	return c, err
}

func (o *selection) choose(cmd *cobra.Command, args []string) (c chosen, err error) {
	cat := catalog()
	c.peers = cat.Peers
	if err := plugIn(cmd.Context(), o.peer, cat.Peers); err != nil {
		return c, err
	}
	if cat.Override, err = o.override(); err != nil {
		return c, err
	}
	if c.suite, err = bench.LoadSuite(suiteArg(args), cat); err != nil {
		return c, err
	}
	c.policy = c.suite.Policy
	for _, s := range bench.Settings {
		if v, ok := o.settings[s.Name]; ok {
			if err := s.Set(&c.policy, v); err != nil {
				return c, fmt.Errorf("--%s: %w", s.Name, err)
			}
		}
	}
	if err := bench.CheckPolicy(c.policy); err != nil {
		return c, err
	}
	remote, err := o.host.given()
	if err != nil {
		return c, err
	}
	c.cells = c.suite.Cells
	if remote {
		c.cells = bench.OnTwoHosts(c.cells)
	}
	if c.cells, err = bench.Select(c.cells, o.globs); err != nil {
		return c, err
	}
	if err := o.against(cmd.Context(), &c, cat); err != nil {
		return c, err
	}
	if remote {
		if err := cat.CheckTwoHosts(c.cells); err != nil {
			return c, fmt.Errorf("--server-host: %w (--cell chooses among the cells)", err)
		}
		if c.policy.RT > 0 || c.policy.Mlock {
			return c, errors.New("--server-host: real-time priority and locked memory are for one host only: leave out --rt and --mlock")
		}
	}
	if _, given := o.settings["ceiling"]; given && c.policy.Ceiling && !slices.ContainsFunc(c.cells, bench.HasCeiling) {
		return c, errors.New("--ceiling: none of the cells is a data-rate cell at max")
	}
	pin, pinErr := c.suite.Pin, func(err error) error {
		return fmt.Errorf("%s: pin: %s", c.suite.PinAt, strings.TrimPrefix(err.Error(), "--pin "))
	}
	if cmd.Flags().Changed("pin") {
		pin, pinErr = o.pin, func(err error) error { return err }
	}
	if c.plan, err = pinning.Parse(pin); err != nil {
		return c, pinErr(err)
	}
	if c.topology, err = pinning.System(); err != nil {
		return c, err
	}
	if remote {
		if c.host, err = o.host.reach(cmd.Context()); err != nil {
			return c, &exitError{exitFailed, err}
		}
	} else if err := c.plan.Check(c.topology); err != nil {
		return c, pinErr(err)
	}
	if err := c.place(); err != nil {
		return c, err
	}
	if err := bench.CheckRights(c.policy, c.plan, c.topology, c.cells); err != nil {
		return c, err
	}
	c.seed = o.seed
	if !cmd.Flags().Changed("seed") {
		c.seed = randomSeed()
	}
	return c, nil
}

// override is what the flags say in place of the suite.
func (o *selection) override() (v bench.Override, err error) {
	for _, s := range o.payload {
		n, err := bench.ParseSize(s)
		if err != nil {
			return v, fmt.Errorf("--payload: %w", err)
		}
		v.Payloads = append(v.Payloads, n)
	}
	for _, s := range o.depth {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			return v, fmt.Errorf("--depth: %q is not a number from 1", s)
		}
		v.Depths = append(v.Depths, n)
	}
	v.Clients, v.Servers = o.client, o.server
	return v, nil
}

// randomSeed is short enough to be typed.
func randomSeed() uint64 {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return uint64(binary.LittleEndian.Uint32(b[:]))
}

// catalog is all that this msgbench knows.
func catalog() bench.Catalog {
	return bench.Catalog{Scenarios: scenarios.Table, Transports: append(bench.Transports(all.Table()), areg.Transport{}), Peers: catalogPeers()}
}

// skipReasons says why cells can't run on this machine; empty where they can.
func (c chosen) skipReasons() func(results.Cell) string {
	reasons := map[string]string{}
	for _, t := range all.Table() {
		if p, ok := t.(transports.Prober); ok {
			if err := p.Probe(); err != nil {
				reasons[t.Info().Name] = err.Error()
			}
		}
	}
	return func(cell results.Cell) string {
		return cmp.Or(reasons[cell.Transport], c.missing[cell.Client], c.missing[cell.Server])
	}
}

// runnable are the cells that are not skipped.
func (c chosen) runnable() []results.Cell {
	skip := c.skipReasons()
	return slices.DeleteFunc(slices.Clone(c.cells), func(cell results.Cell) bool { return skip(cell) != "" })
}

func encodeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
