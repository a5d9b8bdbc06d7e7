package machine

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// passing are the parts of an environment that differ from one look to the next, by their path: they say nothing of a change.
var passing = []string{"load", "busy_share", "steal_share", "free_cpus", "memory.available_bytes", "clock.resolution_ns", "clock.cost_ns"}

// Changes says what is no longer as an environment tells that was kept as JSON: one change a text, like "cpu.governor: powersave
// → performance", in alphabetical order. What differs at any time is left out.
func Changes(kept []byte, now Environment) ([]string, error) {
	data, err := json.Marshal(now)
	if err != nil {
		return nil, err
	}
	was, is := map[string]string{}, map[string]string{}
	for _, x := range []struct {
		json []byte
		into map[string]string
	}{{kept, was}, {data, is}} {
		var v any
		d := json.NewDecoder(bytes.NewReader(x.json))
		d.UseNumber() // bytes of memory are not to be rounded
		if err := d.Decode(&v); err != nil {
			return nil, fmt.Errorf("environment: %w", err)
		}
		flatten(x.into, "", v)
	}
	all := maps.Clone(was)
	maps.Copy(all, is)
	var changes []string
	for _, path := range slices.Sorted(maps.Keys(all)) {
		if was[path] != is[path] && !slices.Contains(passing, path) {
			changes = append(changes, fmt.Sprintf("%s: %s → %s", path, cmp.Or(was[path], "not known"), cmp.Or(is[path], "not known")))
		}
	}
	return changes, nil
}

// flatten puts the values of a tree into one map, by their path; a list is one value.
func flatten(into map[string]string, path string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			flatten(into, strings.TrimPrefix(path+"."+k, "."), x)
		}
	case []any:
		words := make([]string, len(v))
		for i, x := range v {
			words[i] = fmt.Sprint(x)
		}
		into[path] = strings.Join(words, " ")
	default:
		into[path] = fmt.Sprint(v)
	}
}
