package report

import (
	"fmt"
	"strings"

	"msgbench/results"
	"msgbench/stability"
)

// methodology tells how rows were made: from the settings of the run, or from the facts in the head of its CSV.
func methodology(b *strings.Builder, d Document) {
	if d.Run != nil {
		policyText(b, d.Run.Policy)
	} else {
		for _, key := range []string{"source", "policy", "flaws"} {
			if v := d.Fact(key); v != "" {
				fmt.Fprintf(b, "- %s: %s\n", key, cell(v))
			}
		}
	}
	for _, key := range []string{"placement", "clock", "interval", "suite", "seed", "command"} {
		if v := d.Fact(key); v != "" {
			fmt.Fprintf(b, "- %s: %s\n", key, cell(v))
		}
	}
	b.WriteString(`- Throughput counts operations; in batches it counts items, and the target rate is that of the batches. CPU is per cent of one
  CPU.
`)
	if imported := reasonCounts(d.Rows); len(imported) > 0 {
		b.WriteString("- Imported figures, including total CPU, are shown as they were published and not checked. Of their rows:\n")
		for _, r := range imported {
			fmt.Fprintf(b, "  - %d: %s\n", r.n, cell(r.reason))
		}
	}
	b.WriteString("\n")
}

func policyText(b *strings.Builder, p results.Policy) {
	order := "in random order"
	if p.Order == results.OrderPage {
		order = "in the order of this page (scenario and transport, rate with max first, server, client), so that what comes late in a round does so in each of them"
	}
	samples := fmt.Sprintf("%d samples", p.Samples)
	if p.Precision > 0 {
		samples = "as many samples as it takes"
	}
	fmt.Fprintf(b, "- One row for each cell, from %s, each in fresh processes; every round measures all cells %s.\n", samples, order)
	if p.Precision > 0 {
		looks := stability.Looks(p)
		fmt.Fprintf(b, "- Cells whose 95 %% interval of the median throughput or of p50 of the service time reaches further than %g %% from the median go on "+
			"after %d rounds, up to %d, and are looked at in few fixed places only. How precise each row is stands in the notes.\n",
			100*p.Precision, looks[0], looks[len(looks)-1])
	}
	fmt.Fprintf(b, "- A sample takes %s at a fixed rate and %s at max, after a warm-up of at least %s that is not in the window.\n",
		p.Duration, p.MaxDuration, p.Warmup)
	b.WriteString("- Throughput is the median of all valid samples; percentiles come from their merged histograms.\n")
	fmt.Fprintf(b, "- Stable core: what is left when %g of the samples are dropped at each end. It must hold at least %d samples with max/min at most %g.\n",
		p.Trim, p.MinCore, p.CoreRatio)
	b.WriteString("- Raw outliers that the core leaves out are in the notes, with the place of their samples in the journal.\n")
	fmt.Fprintf(b, "- A fixed-rate row that delivers less than %g of its target is oversubscribed if the same pair's max row is below the target, else unstable.\n",
		p.MinDelivered)
	fmt.Fprintf(b, "- A window whose first and last third differ by more than %g is a ramp: it is rejected and measured again.\n", p.MaxRamp)
	if p.MaxInterference > 0 {
		fmt.Fprintf(b, "- A sample is disturbed if steal and other processes had more than %g %% of its CPUs' time, whatever it measured. It is measured again, up to %g %% of all samples; beyond that it counts.\n",
			100*p.MaxInterference, 100*p.Budget)
	}
	if p.Reruns > 0 {
		b.WriteString("- A cell that falls short is measured again as a whole, once; it is recovered if it then holds.\n")
	}
	b.WriteString("- Rows marked ~ are unstable and should not be quoted.\n")
}

type reasonCount struct {
	reason string
	n      int
}

// reasonCounts counts what is said of imported rows, part by part, in the order of the rows.
func reasonCounts(rows []results.Row) []reasonCount {
	var out []reasonCount
	at := map[string]int{}
	for i := range rows {
		if rows[i].Verdict != results.Imported {
			continue
		}
		for _, part := range strings.Split(rows[i].Reason, "; ") {
			kind, _, _ := strings.Cut(part, ": ") // figures of the row follow
			if kind == "" {
				continue
			}
			if _, seen := at[kind]; !seen {
				at[kind] = len(out)
				out = append(out, reasonCount{reason: kind})
			}
			out[at[kind]].n++
		}
	}
	return out
}
