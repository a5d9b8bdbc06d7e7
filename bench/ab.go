package bench

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"msgbench/results"
	"msgbench/scenarios"
)

// Against makes of each cell two, one with setting at a and one at b, and pairs them: what `run --ab` measures. The setting
// is client, server, transport, payload or a dimension; or results.Build, where a is the cell with the peer
// results.BaselinePeer in the place of this msgbench, and b the cell itself. Cells that can't be both are left out, and
// their number is returned; if none can, the error says why the first one can't. A cell that would be in two pairs, since the new
// transport has another default, is an error. Other dimensions stay as they are: at
// their default, which is that of the new transport, or at the value of the cell.
func (c Catalog) Against(cells []results.Cell, setting, a, b string) (ab results.AB, both []results.Cell, left int, err error) {
	if err := checkSetting(setting); err != nil {
		return ab, nil, 0, err
	}
	if a == b {
		return ab, nil, 0, fmt.Errorf("--ab %s: both sides are %s", setting, a)
	}
	ab = results.AB{Setting: setting, A: a, B: b}
	pairOf := map[string]results.Pair{}
	var why error
	for _, cell := range cells {
		x, err := c.vary(cell, setting, a)
		y, err2 := c.vary(cell, setting, b)
		if err := errors.Join(err, err2); err != nil {
			why = cmpError(why, err)
			left++
			continue
		}
		p := results.Pair{A: x.Key(), B: y.Key()}
		switch {
		case p.A == p.B:
			return ab, nil, 0, fmt.Errorf("--ab %s=%s,%s: both are the cell %s", setting, a, b, p.A)
		case pairOf[p.A] == p: // the suite has both already
			continue
		}
		for _, key := range []string{p.A, p.B} {
			if other, taken := pairOf[key]; taken {
				return ab, nil, 0, fmt.Errorf("--ab %s=%s,%s: %s would be a side of two pairs, with %s and with %s: choose one of them by --cell",
					setting, a, b, key, pairPartner(other, key), pairPartner(p, key))
			}
		}
		pairOf[p.A], pairOf[p.B] = p, p
		ab.Pairs = append(ab.Pairs, p)
		both = append(both, x, y)
	}
	if len(both) == 0 {
		return ab, nil, left, placed("--ab", why)
	}
	return ab, both, left, nil
}

// pairPartner is the other side of a pair.
func pairPartner(p results.Pair, key string) string {
	if p.A == key {
		return p.B
	}
	return p.A
}

// cmpError is the first of two errors that is one.
func cmpError(first, next error) error {
	if first != nil {
		return first
	}
	return next
}

// partSettings are the parts of a key that can be set against each other. Two scenarios or two rates have no figure in
// common.
var partSettings = []string{"client", "server", "transport", "payload"}

func checkSetting(s string) error {
	known := slices.Concat(partSettings, slices.Sorted(maps.Keys((cellSpec{}).words())))
	if s == results.Build || slices.Contains(known, s) {
		return nil
	}
	return fmt.Errorf("--ab: unknown setting %q (known: %s)", s, strings.Join(known, ", "))
}

// vary is a cell with one setting at a value.
func (c Catalog) vary(cell results.Cell, setting, value string) (results.Cell, error) {
	at := func(text string) *word { return &word{text: text, flag: "ab"} }
	payload := noTransport
	if cell.Payload != results.NoPayload {
		payload = fmt.Sprint(cell.Payload)
	}
	parts := map[string]*word{"client": at(cell.Client), "server": at(cell.Server), "transport": at(cell.Transport), "payload": at(payload)}
	dims := map[string]word{}
	for name, v := range cell.Dims {
		if name != hostsDim { // which no suite can give
			dims[name] = *at(v)
		}
	}
	switch {
	case setting == results.Build:
		if value == results.BaselinePeer {
			if cell.Client != BuiltIn && cell.Server != BuiltIn {
				return cell, at("").errorf("%s: neither side is msgbench itself", cell.Key())
			}
			for _, side := range []string{"client", "server"} {
				if parts[side].text == BuiltIn {
					parts[side].text = value
				}
			}
		}
	case parts[setting] != nil:
		parts[setting].text = value
	default:
		dims[setting] = *at(value)
	}
	scenario, err := scenarios.Find(cell.Scenario)
	if err != nil {
		return cell, err
	}
	name := *at(cell.Scenario)
	pairs, err := c.pairs(words{*parts["client"]}, words{*parts["server"]}, name, *parts["transport"], dims["nodelay"].text == "off")
	if err != nil {
		return cell, err
	}
	if len(pairs) == 0 {
		return cell, at("").errorf("%s and %s do not have %s over %s in common", parts["client"].text, parts["server"].text,
			cell.Scenario, parts["transport"].text)
	}
	rate := *at(results.RateString(cell.Rate))
	varied, err := c.cell(scenario, name, *parts["transport"], *parts["client"], *parts["server"], *parts["payload"], rate, dims)
	if _, apart := cell.Dims[hostsDim]; apart && err == nil {
		varied = OnTwoHosts([]results.Cell{varied})[0]
	}
	return varied, err
}

// Order is the order in which the cells of one round are measured: random, but the same for the same seed and round, or
// as they stand where the policy asks for that of a page: see Arrange. The two cells of a pair of ab, which may be nil, come right
// after each other; which of them is first changes from round to round, beginning at random.
func Order(p results.Policy, ab *results.AB, seed uint64, round int, cells []results.Cell) []results.Cell {
	units := unite(ab, cells)
	order := make([]results.Cell, 0, len(cells))
	turns := Round(seed, round, len(units))
	if p.Order == results.OrderPage {
		slices.Sort(turns)
	}
	for _, i := range turns {
		u := units[i]
		begins := rand.New(rand.NewPCG(seed, ^uint64(i))).IntN(2)
		if len(u) == 2 && (begins+round)%2 == 1 {
			u[0], u[1] = u[1], u[0]
		}
		order = append(order, u...)
	}
	return order
}

// unite puts together the cells that are measured right after each other.
func unite(ab *results.AB, cells []results.Cell) [][]results.Cell {
	partner := map[string]string{}
	if ab != nil {
		for _, p := range ab.Pairs {
			partner[p.A], partner[p.B] = p.B, p.A
		}
	}
	var units [][]results.Cell
	place := map[string]int{}
	for _, c := range cells {
		key := c.Key()
		if i, ok := place[partner[key]]; ok {
			units[i] = append(units[i], c)
			continue
		}
		place[key] = len(units)
		units = append(units, []results.Cell{c})
	}
	return units
}
