package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"msgbench/results"
)

// Post is a short block to paste into an issue or a forum, with what people ask for there: system, kernel, CPU and its
// class, memory, rates per recipe and the stable ceiling. What is not known is said to be not measured.
func Post(d Document) string {
	var b strings.Builder
	fmt.Fprintf(&b, "**msgbench %s**, suite %s, %s\n\n", cell(orText(d.Fact("msgbench"), "(version not stated)")), cell(orText(d.Fact("suite"), "not stated")), cell(orText(d.Fact("date"), "no date")))
	const unknown = "not measured"
	cpu := d.Fact("cpu")
	memory := orText(memoryType(d), unknown+" (the firmware tells it to root only)")
	for _, l := range [][2]string{
		{"Distribution", orText(d.Fact("distribution"), unknown)},
		{"Kernel", orText(d.Fact("kernel"), unknown)},
		{"CPU", orText(cpu, unknown)},
		{"CPU class", orText(cpuClass(cpu), "not known")},
		{"Topology", d.Fact("topology")},
		{"Memory", memory},
		{"Virtual", d.Fact("hypervisor")},
		{"Governor, turbo", strings.Trim(d.Fact("governor")+", "+d.Fact("turbo"), ", ")},
		{"Machine", machineIfBare(d)},
		{"Placement", d.Fact("placement")},
	} {
		if l[1] != "" {
			fmt.Fprintf(&b, "- %s: %s\n", l[0], cell(l[1]))
		}
	}
	fmt.Fprintf(&b, "- Stable ceiling (highest offered rate that is delivered while memory stays): %s\n\n", orText(ceilings(d.Rows), unknown))
	postRates(&b, d.Rows)
	return b.String()
}

// machineIfBare is the machine where nothing else tells it.
func machineIfBare(d Document) string {
	if d.Fact("cpu") == "" {
		return d.Fact("machine")
	}
	return ""
}

// memoryType is what the environment of the run says.
func memoryType(d Document) string {
	if v := d.Fact("memory"); v != "" || d.Run == nil {
		return v
	}
	var e struct {
		Memory struct {
			Type string `json:"type"`
		} `json:"memory"`
	}
	if json.Unmarshal(d.Run.Environment, &e) != nil {
		return ""
	}
	return e.Memory.Type
}

// cpuClass tells mobile, desktop and server processors apart by their names; empty where the name does not tell.
func cpuClass(model string) string {
	m := strings.ToLower(model)
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(m, w) })
	}
	switch {
	case has("virtual", "qemu", "kvm"):
		return "virtual"
	case has("xeon w", "xeon(r) w", "threadripper"):
		return "workstation"
	case has("xeon", "epyc", "graviton", "neoverse", "ampere", "platinum"):
		return "server"
	case has("apple m"):
		return "mobile or desktop (Apple silicon)"
	}
	for _, w := range strings.FieldsFunc(m, func(r rune) bool { return r == ' ' || r == '-' || r == '(' || r == ')' }) {
		digits := strings.TrimRight(w, "abcdefghijklmnopqrstuvwxyz")
		if len(digits) < 3 || strings.Trim(digits, "0123456789") != "" {
			continue
		}
		switch w[len(digits):] {
		case "h", "hs", "hk", "hx", "u", "p", "y", "v":
			return "mobile"
		case "", "k", "kf", "ks", "f", "t", "x", "xt", "g", "s":
			if has("core", "ryzen") {
				return "desktop"
			}
		}
	}
	return ""
}

// ceilings are the highest rates that a search found to be stable, of each transport and recipe.
func ceilings(rows []results.Row) string {
	where := onMachine(rows)
	var parts []string
	for i := range rows {
		r := &rows[i]
		if !r.Ceiling.OK() {
			continue
		}
		part := recipe(r) + " over " + who(r) + where(r) + ": " + count(r.Ceiling) + " msg/s"
		if r.CeilingFails.OK() {
			part += " (" + count(r.CeilingFails) + " did not hold)"
		}
		parts = append(parts, part)
	}
	return cell(strings.Join(parts, "; "))
}

// postRates shows one row a transport and recipe: a recipe is a scenario and payload at full speed.
func postRates(b *strings.Builder, all []results.Row) {
	var rows []*results.Row
	recipes := false
	for i := range all {
		r := &all[i]
		if r.TargetRPS == "max" && r.Transport != "-" && r.Verdict != results.Failed && r.Verdict != results.Skipped {
			rows = append(rows, r)
			recipes = recipes || r.Scenario == "data-rate"
		}
	}
	// Where data rates were measured, they are what is asked for.
	if recipes {
		rows = slices.DeleteFunc(rows, func(r *results.Row) bool { return r.Scenario != "data-rate" })
	}
	slices.SortStableFunc(rows, func(a, b *results.Row) int {
		return cmp.Or(compareSubjects(subjectOf(a), subjectOf(b)), strings.Compare(a.Cell, b.Cell))
	})
	if !recipes {
		b.WriteString("Data rate per recipe (1 MiB, 1 KiB, 128 B one way): not measured. Instead, at full speed:\n\n")
	}
	if len(rows) == 0 {
		b.WriteString("Nothing was measured at full speed.\n")
		return
	}
	const most = 20
	where := onMachine(all)
	var lines [][]string
	for _, r := range rows[:min(len(rows), most)] {
		messages := r.MessagesPerS
		if !messages.OK() {
			messages = r.Throughput // published rows have operations only
		}
		lines = append(lines, []string{cell(recipe(r) + where(r)), pairMark(r) + cell(who(r)), count(messages), exact(r.MBPerS, 1),
			peaks(r.PeakPerS, r.PeakMBPerS, r.RoutedPeak), peaks(r.Sustained, r.SustainedMB, r.RoutedSteady), micros2(r.P50Us), micros2(r.P99Us),
			cell(r.Verdict)})
	}
	markdownTable(b, []string{"recipe", "transport", "msg/s", "MB/s", "peak", "sustained", "p50 µs", "p99 µs", "verdict"}, 2, lines)
	if len(rows) > most {
		fmt.Fprintf(b, "And %d more rows in the full report.\n", len(rows)-most)
	}
}

// peaks is a rate of messages and of data as received, and of messages as counted in a process in the middle, if there is one.
func peaks(perSecond, mb, routed results.Num) string {
	if !perSecond.OK() {
		return "not measured"
	}
	s := count(perSecond) + "/s, " + exact(mb, 1) + " MB/s"
	if routed.OK() {
		s += " (router " + count(routed) + "/s)"
	}
	return s
}

func recipe(r *results.Row) string {
	s := r.Scenario
	if r.Payload.OK() {
		s += " " + r.Payload.String() + " B"
	}
	return s
}
