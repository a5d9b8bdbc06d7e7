package bench

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"msgbench/results"
	"msgbench/scenarios"
	"msgbench/transports"
)

// Transport is what cells need to know of a transport: most are adapters, but one can be programs of somebody else.
type Transport interface{ Info() transports.Info }

// Transports is adapters as transports of a catalog.
func Transports(adapters []transports.Transport) []Transport {
	var ts []Transport
	for _, t := range adapters {
		ts = append(ts, t)
	}
	return ts
}

// sized is a Transport through a process in the middle that carries some payloads only: those of each scope in bytes, or nil
// for all.
type sized interface {
	Transport
	Sizes(transports.Scope) []int
}

// checker is a Transport that can't run every cell that its scenarios allow, and says why.
type checker interface{ Check(results.Cell) error }

// Catalog is what cells can be made of.
type Catalog struct {
	Scenarios  []scenarios.Scenario
	Transports []Transport
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
	GC          words `yaml:"gc"`
	Pin         words `yaml:"pin"`
}

// words are all dimensions, with those values that an entry sets.
func (s cellSpec) words() map[string]words {
	return map[string]words{"wait": s.Wait, "mode": s.Mode, "depth": s.Depth, "subscribers": s.Subscribers,
		"channels": s.Channels, "buffer": s.Buffer, "scope": s.Scope, "handoff": s.Handoff, "nodelay": s.NoDelay, "gc": s.GC, "pin": s.Pin}
}

// dims are the dimensions that an entry sets.
func (s cellSpec) dims() map[string]words {
	all := s.words()
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
				// No peer has an unknown one: its cells would drop out without a word.
				if transport.text != noTransport {
					if _, err := c.transport(transport); err != nil {
						return nil, err
					}
				}
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
	clients, servers := s.Client.or(BuiltIn), s.Server.or(BuiltIn)
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
	var t Transport
	var info transports.Info
	var brokered sized
	if s.NoTransport != (transport.text == noTransport) {
		return cell, transport.errorf("transport: %s takes none: leave it out", s.Name)
	}
	if !s.NoTransport {
		if t, err = c.transport(transport); err != nil {
			return cell, err
		}
		info = t.Info()
		brokered, _ = t.(sized)
	}
	if err := setDims(&cell, s, info, brokered, transport, dims); err != nil {
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
	if ch, ok := t.(checker); ok {
		if err := ch.Check(cell); err != nil {
			return cell, name.errorf("%v", err)
		}
	}
	return cell, nil
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

func (c Catalog) transport(w word) (Transport, error) {
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
