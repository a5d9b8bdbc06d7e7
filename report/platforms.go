package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"msgbench/results"
)

// Platforms sets runs of several machines side by side: for each cell a table with a line a machine, in the order of the
// documents. It ranks nothing and marks no winner: what differs between machines is the machine as well.
func Platforms(docs []Document) string {
	var b strings.Builder
	b.WriteString("# Results by platform\n\nNo order and no winner: the machines differ, and so may the settings below.\n\n## Platforms\n\n")
	names := platformNames(docs)
	var head []string
	head = append(head, "")
	for _, n := range names {
		head = append(head, cell(n))
	}
	var lines [][]string
	for _, key := range factKeys(docs) {
		l := []string{cell(key)}
		for _, d := range docs {
			l = append(l, cell(d.Fact(key)))
		}
		lines = append(lines, l)
	}
	markdownTable(&b, head, len(head), lines)
	byCell := map[string][]platformRow{}
	var order []string
	for i := range docs {
		for j := range docs[i].Rows {
			r := &docs[i].Rows[j]
			if len(byCell[r.Cell]) == 0 {
				order = append(order, r.Cell)
			}
			byCell[r.Cell] = append(byCell[r.Cell], platformRow{names[i], r})
		}
	}
	slices.SortStableFunc(order, func(x, y string) int {
		a, b := byCell[x][0].Row, byCell[y][0].Row
		sa, sb := subjectOf(a), subjectOf(b)
		sa.machine, sb.machine = "", ""
		return cmp.Or(compareSubjects(sa, sb), strings.Compare(x, y))
	})
	alone := 0
	b.WriteString("## Latency and throughput by platform\n\n")
	for _, key := range order {
		rows := byCell[key]
		if !slices.ContainsFunc(rows, func(r platformRow) bool { return r.platform != rows[0].platform }) && len(docs) > 1 {
			alone++
			continue
		}
		platformTable(&b, key, rows)
	}
	if alone > 0 {
		fmt.Fprintf(&b, "%s measured on one platform only: not shown; its own report has them.\n\n", plural(alone, "cell"))
	}
	b.WriteString("## Verdicts\n\n")
	for i, d := range docs {
		fmt.Fprintf(&b, "%s, ", cell(names[i]))
		summary(&b, d.Rows)
	}
	return b.String()
}

type platformRow struct {
	platform string
	*results.Row
}

// platformTable is a cell on every platform.
func platformTable(b *strings.Builder, key string, rows []platformRow) {
	kind := ""
	for _, r := range rows {
		kind = orText(kind, r.Latency)
	}
	fmt.Fprintf(b, "### `%s`\n\n", code(key))
	head := []string{"Platform", "Verdict", "min µs", "p50 µs", "p95 µs", "p99 µs", "mean µs", "per second", "interval", "MB/s", "CPU %", "CPUs"}
	streams := slices.ContainsFunc(rows, func(r platformRow) bool { return r.PeakPerS.OK() })
	if streams {
		head = append(head, "peak", "sustained", "stable ceiling/s")
	}
	lost := slices.ContainsFunc(rows, func(r platformRow) bool { return r.Lost.Or(0) > 0 })
	if lost {
		head = append(head, "delivered/s", "lost %")
	}
	var lines [][]string
	for _, r := range rows {
		verdict := r.Verdict
		if r.Latency != "" && r.Latency != kind {
			verdict += ", " + latencyName(r.Latency)
		}
		lines = append(lines, []string{pairMark(r.Row) + cell(r.platform), cell(verdict), micros2(r.MinUs), micros2(r.P50Us), micros2(r.P95Us),
			micros2(r.P99Us), micros2(r.MeanUs), count(r.Throughput), span(r.ThroughputLo, r.ThroughputHi, count), exact(r.MBPerS, 1),
			cpu(r.Row, r.TotalCPU, 0), cell(r.CPURelation)})
		last := &lines[len(lines)-1]
		if streams {
			*last = append(*last, peaks(r.PeakPerS, r.PeakMBPerS, r.RoutedPeak), peaks(r.Sustained, r.SustainedMB, r.RoutedSteady), count(r.Ceiling))
		}
		if lost {
			*last = append(*last, count(r.MessagesPerS), lostPct(r.Row))
		}
	}
	if kind != "" {
		fmt.Fprintf(b, "Latency: %s.\n\n", cell(latencyName(kind)))
	}
	markdownTable(b, head, 2, lines)
}

// platformNames are the machines, with the name of the run where a machine stands there twice.
func platformNames(docs []Document) []string {
	n := map[string]int{}
	names := make([]string, len(docs))
	for i, d := range docs {
		names[i] = orText(d.Fact("machine"), "machine not named")
		n[names[i]]++
	}
	for i, d := range docs {
		if n[names[i]] > 1 {
			names[i] += " (" + d.Name + ")"
		}
	}
	// Two runs may have one name, too, in different folders.
	seen := map[string]int{}
	for i := range names {
		seen[names[i]]++
		if k := seen[names[i]]; k > 1 {
			names[i] += fmt.Sprintf(" #%d", k)
		}
	}
	return names
}

// factKeys are the keys of the facts of all documents, in the order of the first that has them.
func factKeys(docs []Document) []string {
	var keys []string
	for _, d := range docs {
		for _, f := range d.Facts {
			if f.Key != "machine" && !slices.Contains(keys, f.Key) {
				keys = append(keys, f.Key)
			}
		}
	}
	return keys
}
