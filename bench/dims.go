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

// setDims puts the dimensions of a cell where they belong: those at their default beside the key, the others into it.
func setDims(cell *results.Cell, s scenarios.Scenario, info transports.Info, brokered sized, transport word, given map[string]word) error {
	put := func(name, value, standard string) {
		if value == standard {
			cell.Defaults[name] = value
		} else {
			cell.Dims[name] = value
		}
	}
	known := map[string]bool{"pin": true, "gc": true}
	if w, ok := given["pin"]; ok {
		if _, err := pinning.Parse(w.text); err != nil {
			return w.errorf("%v", err)
		}
		cell.Dims["pin"] = w.text
	}
	if w, ok := given["gc"]; ok {
		if w.text != "on" && w.text != "off" {
			return w.errorf("gc: %q is neither on nor off", w.text)
		}
		for _, peer := range []string{cell.Client, cell.Server} {
			if w.text == "off" && peer != BuiltIn && peer != results.BaselinePeer {
				return w.errorf("gc: %s has no garbage collector to turn off", peer)
			}
		}
		put("gc", w.text, "on")
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
		if err := setScope(cell, s, brokered, transport, given, put, known); err != nil {
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
