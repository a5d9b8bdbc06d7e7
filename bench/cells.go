package bench

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"msgbench/pinning"
	"msgbench/results"
	"msgbench/scenarios"
	"msgbench/transports"
)

// Catalog is what cells can be made of.
type Catalog struct {
	Scenarios  []scenarios.Scenario
	Transports []transports.Transport
	Peers      map[string]Peer // by name
	Override   Override
}

// Override replaces values of every suite; the zero value replaces nothing.
type Override struct {
	Payloads []int // of cells that have one to choose
	Depths   []int // of cells that have one
	Clients  []string
	Servers  []string
}

// any tells whether something is replaced: then values that stood apart may fall together.
func (o Override) any() bool {
	return o.Payloads != nil || o.Depths != nil || o.Clients != nil || o.Servers != nil
}

// MaxRate is the highest fixed rate in operations per second.
const MaxRate = 100_000_000

// cellSpec is an entry of a suite's cells: every combination of its values is a cell.
type cellSpec struct {
	Scenario    words `yaml:"scenario"`
	Transport   words `yaml:"transport"`
	Client      words `yaml:"client"`
	Server      words `yaml:"server"`
	Payload     words `yaml:"payload"`
	Rate        words `yaml:"rate"`
	Wait        words `yaml:"wait"`
	Mode        words `yaml:"mode"`
	Depth       words `yaml:"depth"`
	Subscribers words `yaml:"subscribers"`
	Channels    words `yaml:"channels"`
	Buffer      words `yaml:"buffer"`
	Scope       words `yaml:"scope"`
	Handoff     words `yaml:"handoff"`
	NoDelay     words `yaml:"nodelay"`
	Pin         words `yaml:"pin"`
}

// dims are the dimensions that an entry sets.
func (s cellSpec) dims() map[string]words {
	all := map[string]words{"wait": s.Wait, "mode": s.Mode, "depth": s.Depth, "subscribers": s.Subscribers,
		"channels": s.Channels, "buffer": s.Buffer, "scope": s.Scope, "handoff": s.Handoff, "nodelay": s.NoDelay, "pin": s.Pin}
	maps.DeleteFunc(all, func(_ string, w words) bool { return len(w) == 0 })
	return all
}

// or returns ws, or the default where it is empty.
func (ws words) or(d string) words {
	if len(ws) == 0 {
		return words{{text: d}}
	}
	return ws
}

// noTransport stands in the place of the transport, and of the payload, where a scenario has none.
const noTransport = "-"

// expand makes the cells of a spec, rates outermost: capacities come before the rates that need them.
func (s cellSpec) expand(c Catalog) ([]results.Cell, error) {
	if len(s.Scenario) == 0 {
		return nil, fmt.Errorf(" every entry of cells needs scenario")
	}
	var cells []results.Cell
	for _, rate := range s.Rate.or("max") {
		for _, name := range s.Scenario {
			scenario, err := c.scenario(name)
			if err != nil {
				return nil, err
			}
			if len(s.Transport) == 0 && !scenario.NoTransport {
				return nil, name.errorf("transport: %s needs one", name.text)
			}
			for _, transport := range s.Transport.or(noTransport) {
				for _, payload := range s.payloads(scenario, c.Override) {
					if c.Override.Payloads != nil && s.untyped(c, transport, payload) {
						continue
					}
					more, err := s.expandPairs(c, scenario, name, transport, payload, rate)
					if err != nil {
						return nil, err
					}
					cells = append(cells, more...)
				}
			}
		}
	}
	if len(cells) == 0 && !c.Override.any() {
		return nil, s.Scenario[0].errorf("none of these clients and servers have a transport and the scenario in common")
	}
	return cells, nil
}

// expandPairs is the cells of one point for each client, server and choice of dimensions.
func (s cellSpec) expandPairs(c Catalog, scenario scenarios.Scenario, name, transport, payload, rate word) ([]results.Cell, error) {
	clients, servers := s.Client.or("go"), s.Server.or("go")
	if c.Override.Clients != nil {
		clients = texts("client", c.Override.Clients)
	}
	if c.Override.Servers != nil {
		servers = texts("server", c.Override.Servers)
	}
	var cells []results.Cell
	for _, dims := range combinations(s.depths(scenario, c.Override)) {
		pairs, err := c.pairs(clients, servers, name, transport, dims["nodelay"].text == "off")
		if err != nil {
			return nil, err
		}
		for _, p := range pairs {
			cell, err := c.cell(scenario, name, transport, p[0], p[1], payload, rate, dims)
			if err != nil {
				return nil, err
			}
			cells = append(cells, cell)
		}
	}
	return cells, nil
}

func texts(flag string, ss []string) words {
	var ws words
	for _, s := range ss {
		ws = append(ws, word{text: s, flag: flag})
	}
	return ws
}

func (s cellSpec) payloads(scenario scenarios.Scenario, o Override) words {
	if !scenario.Payload {
		return s.Payload.or(noTransport)
	}
	if len(o.Payloads) == 0 {
		return s.Payload.or("64")
	}
	return numbers("payload", o.Payloads)
}

func (s cellSpec) depths(scenario scenarios.Scenario, o Override) map[string]words {
	dims := s.dims()
	has := slices.ContainsFunc(scenario.Dims, func(d scenarios.Dim) bool { return d.Name == "depth" })
	if has && len(o.Depths) > 0 {
		dims["depth"] = numbers("depth", o.Depths)
	}
	return dims
}

func numbers(flag string, ns []int) words {
	var ws words
	for _, n := range ns {
		ws = append(ws, word{text: strconv.Itoa(n), flag: flag})
	}
	return ws
}

// combinations is every choice of one word for each dimension, in a fixed order.
func combinations(dims map[string]words) []map[string]word {
	out := []map[string]word{{}}
	for _, name := range slices.Sorted(maps.Keys(dims)) {
		var next []map[string]word
		for _, have := range out {
			for _, w := range dims[name] {
				m := maps.Clone(have)
				m[name] = w
				next = append(next, m)
			}
		}
		out = next
	}
	return out
}

// cell makes one cell of the words of a suite, or says which of them is wrong.
func (c Catalog) cell(s scenarios.Scenario, name, transport, client, server, payload, rate word, dims map[string]word) (cell results.Cell, err error) {
	cell = results.Cell{
		Scenario: s.Name, Transport: transport.text, Client: client.text, Server: server.text, Payload: results.NoPayload,
		Dims: map[string]string{}, Defaults: map[string]string{},
	}
	switch {
	case s.Payload:
		if cell.Payload, err = ParseSize(payload.text); err != nil {
			return cell, payload.errorf("payload: %v", err)
		}
	case payload.text != noTransport:
		return cell, payload.errorf("payload: %s has none to choose", s.Name)
	}
	if cell.Rate, err = ParseRate(rate.text); err != nil {
		return cell, rate.errorf("rate: %v", err)
	}
	if cell.Rate > 0 && !s.Paced {
		return cell, rate.errorf("rate: %s runs at max only", s.Name)
	}
	var info transports.Info
	var brokered transports.Brokered
	if s.NoTransport != (transport.text == noTransport) {
		return cell, transport.errorf("transport: %s takes none: leave it out", s.Name)
	}
	if !s.NoTransport {
		t, err := c.transport(transport)
		if err != nil {
			return cell, err
		}
		info = t.Info()
		brokered, _ = t.(transports.Brokered)
	}
	if err := setDims(&cell, s, info, brokered, dims); err != nil {
		return cell, err
	}
	if s.NoTransport {
		return cell, nil
	}
	p, err := CellParams(cell)
	if err != nil {
		return cell, name.errorf("%v", err)
	}
	if n := s.MaxMessage(p); n > info.MaxMessage {
		return cell, payload.errorf("payload: %s carries messages of at most %d B, this cell needs %d B", info.Name, info.MaxMessage, n)
	}
	return cell, nil
}

// setDims puts the dimensions of a cell where they belong: those at their default beside the key, the others into it.
func setDims(cell *results.Cell, s scenarios.Scenario, info transports.Info, brokered transports.Brokered, given map[string]word) error {
	put := func(name, value, standard string) {
		if value == standard {
			cell.Defaults[name] = value
		} else {
			cell.Dims[name] = value
		}
	}
	known := map[string]bool{"pin": true}
	if w, ok := given["pin"]; ok {
		if _, err := pinning.Parse(w.text); err != nil {
			return w.errorf("%v", err)
		}
		cell.Dims["pin"] = w.text
	}
	if !s.NoTransport {
		known["wait"] = true
		standard := string(info.Waits[0])
		w, ok := given["wait"]
		if !ok {
			w.text = standard
		}
		if !info.Offers(transports.Wait(w.text)) {
			return w.errorf("wait: %s offers %s, not %q", info.Name, joinWaits(info.Waits), w.text)
		}
		put("wait", w.text, standard)
	}
	if info.Buffers {
		known["buffer"] = true
		if w, ok := given["buffer"]; ok {
			n, err := ParseSize(w.text)
			if err != nil || n == 0 {
				return w.errorf("buffer: %q is not a number of bytes from 1", w.text)
			}
			cell.Dims["buffer"] = strconv.Itoa(n)
		}
	}
	if strings.HasSuffix(info.Name, "tcp") {
		known["nodelay"] = true
		if w, ok := given["nodelay"]; ok {
			if w.text != "on" && w.text != "off" {
				return w.errorf("nodelay: %q is neither on nor off", w.text)
			}
			put("nodelay", w.text, "on")
		}
	}
	if brokered != nil {
		if err := setScope(cell, s, brokered, given, put, known); err != nil {
			return err
		}
	}
	for _, d := range s.Dims {
		known[d.Name] = true
		standard := d.Default(cell.Rate)
		w, ok := given[d.Name]
		if !ok {
			w.text = standard
		}
		if err := d.Check(w.text, cell.Rate); err != nil {
			return w.errorf("%s: %v", d.Name, err)
		}
		put(d.Name, w.text, standard)
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !known[name] {
			return given[name].errorf("%s: %s has no such dimension", name, s.Name)
		}
	}
	return nil
}

func joinWaits(ws []transports.Wait) string {
	var s []string
	for _, w := range ws {
		s = append(s, string(w))
	}
	return strings.Join(s, ", ")
}

// ParseSize reads a number of bytes: 64, 64B, 1KiB, 4MiB (powers of two) or 1kB, 1MB (powers of ten).
func ParseSize(s string) (int, error) {
	digits := strings.TrimRight(s, "BKMGikM")
	unit, ok := map[string]int{"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "kB": 1000, "MB": 1_000_000}[s[len(digits):]]
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || n < 0 || strings.HasPrefix(digits, "+") || n > (1<<40)/unit {
		return 0, fmt.Errorf("%q is not a number of bytes like 64, 1KiB or 1MB", s)
	}
	return n * unit, nil
}

// ParseRate reads "max" (0) or operations per second.
func ParseRate(s string) (int, error) {
	if s == "max" {
		return 0, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > MaxRate {
		return 0, fmt.Errorf("%q is neither max nor an integer from 1 to %d operations per second", s, MaxRate)
	}
	return n, nil
}

func (c Catalog) scenario(w word) (scenarios.Scenario, error) {
	var known []string
	for _, s := range c.Scenarios {
		if s.Name == w.text {
			return s, nil
		}
		known = append(known, s.Name)
	}
	return scenarios.Scenario{}, w.errorf("unknown scenario %q (known: %s)", w.text, strings.Join(known, ", "))
}

func (c Catalog) transport(w word) (transports.Transport, error) {
	var known []string
	for _, t := range c.Transports {
		if t.Info().Name == w.text {
			return t, nil
		}
		known = append(known, t.Info().Name)
	}
	return nil, w.errorf("unknown transport %q (known: %s)", w.text, strings.Join(known, ", "))
}

// PeerNames are the names of the peers, sorted.
func (c Catalog) PeerNames() []string {
	var names []string
	for n := range c.Peers {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// Select keeps the cells whose key matches one of the globs, in their order. In a glob `*` matches any text, "/" too, and
// `?` one character. A glob that matches no cell is an error.
func Select(cells []results.Cell, globs []string) ([]results.Cell, error) {
	if len(globs) == 0 {
		return cells, nil
	}
	keep := make([]bool, len(cells))
	for _, g := range globs {
		any := false
		for i, c := range cells {
			if matchGlob(g, c.Key()) {
				keep[i], any = true, true
			}
		}
		if !any {
			return nil, fmt.Errorf("--cell %q matches none of the %d cells (`msgbench plan` lists them)", g, len(cells))
		}
	}
	var kept []results.Cell
	for i, c := range cells {
		if keep[i] {
			kept = append(kept, c)
		}
	}
	return kept, nil
}

// matchGlob matches the whole of s. On a mismatch it goes back to the last star and lets it take one character more.
func matchGlob(glob, s string) bool {
	g, i, star, from := 0, 0, -1, 0
	for i < len(s) {
		switch {
		case g < len(glob) && glob[g] == '*':
			star, from = g, i
			g++
		case g < len(glob) && (glob[g] == '?' || glob[g] == s[i]):
			g++
			i++
		case star >= 0:
			from++
			g, i = star+1, from
		default:
			return false
		}
	}
	return strings.Trim(glob[g:], "*") == ""
}
