package bench

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"msgbench/results"
	"msgbench/scenarios"
	"msgbench/transports"
)

// Catalog is what cells can be made of.
type Catalog struct {
	Scenarios  []scenarios.Scenario
	Transports []transports.Transport
	Peers      map[string]string // path of each worker by the name of its peer
}

// MaxRate is the highest fixed rate in operations per second.
const MaxRate = 100_000_000

// cellSpec is an entry of a suite's cells: every combination of its values is a cell.
type cellSpec struct {
	Scenario  words `yaml:"scenario"`
	Transport words `yaml:"transport"`
	Client    words `yaml:"client"`
	Server    words `yaml:"server"`
	Payload   words `yaml:"payload"`
	Rate      words `yaml:"rate"`
	Wait      words `yaml:"wait"`
}

// or returns ws, or the default where it is empty.
func (ws words) or(d string) words {
	if len(ws) == 0 {
		return words{{text: d}}
	}
	return ws
}

// expand makes the cells of a spec, rates outermost: capacities come before the rates that need them.
func (s cellSpec) expand(c Catalog) ([]results.Cell, error) {
	if len(s.Scenario) == 0 || len(s.Transport) == 0 {
		return nil, fmt.Errorf(" every entry of cells needs scenario and transport")
	}
	var cells []results.Cell
	for _, rate := range s.Rate.or("max") {
		for _, scenario := range s.Scenario {
			for _, transport := range s.Transport {
				for _, payload := range s.Payload.or("64") {
					for _, server := range s.Server.or("go") {
						for _, client := range s.Client.or("go") {
							for _, wait := range s.Wait.or("") {
								cell, err := c.cell(scenario, transport, client, server, payload, rate, wait)
								if err != nil {
									return nil, err
								}
								cells = append(cells, cell)
							}
						}
					}
				}
			}
		}
	}
	return cells, nil
}

// cell makes one cell of the words of a suite, or says which of them is wrong.
func (c Catalog) cell(scenario, transport, client, server, payload, rate, wait word) (results.Cell, error) {
	cell := results.Cell{
		Scenario: scenario.text, Transport: transport.text, Client: client.text, Server: server.text,
		Dims: map[string]string{}, Defaults: map[string]string{},
	}
	s, err := c.scenario(scenario)
	if err != nil {
		return cell, err
	}
	t, err := c.transport(transport)
	if err != nil {
		return cell, err
	}
	for _, peer := range []word{client, server} {
		if _, ok := c.Peers[peer.text]; !ok {
			return cell, peer.errorf("unknown peer %q (known: %s)", peer.text, strings.Join(c.PeerNames(), ", "))
		}
	}
	if cell.Payload, err = strconv.Atoi(payload.text); err != nil || cell.Payload < 0 {
		return cell, payload.errorf("payload: %q is not a number of bytes", payload.text)
	}
	if cell.Rate, err = ParseRate(rate.text); err != nil {
		return cell, rate.errorf("rate: %v", err)
	}
	info := t.Info()
	if n := s.MaxMessage(scenarios.Params{Payload: cell.Payload}); n > info.MaxMessage {
		return cell, payload.errorf("payload: %s carries messages of at most %d B, this cell needs %d B", info.Name, info.MaxMessage, n)
	}
	return cell, setWait(&cell, info, wait)
}

func setWait(cell *results.Cell, info transports.Info, wait word) error {
	switch {
	case wait.text == "" || wait.text == string(info.Waits[0]):
		cell.Defaults["wait"] = string(info.Waits[0])
	case info.Offers(transports.Wait(wait.text)):
		cell.Dims["wait"] = wait.text
	default:
		return wait.errorf("wait: %s offers %s, not %q", info.Name, joinWaits(info.Waits), wait.text)
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
