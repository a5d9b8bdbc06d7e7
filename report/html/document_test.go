package html

import (
	"msgbench/report"
	"msgbench/report/internal/example"
	"msgbench/results"
)

// document is the example with a run's facts.
func document() report.Document {
	t, strips := example.Table()
	return report.Document{Table: t, Strips: strips, Name: "20261201T000000Z"}
}

// spoil puts text into every field that tries to break out of where it stands.
func spoil(d *report.Document) {
	const bad = `=1+1"'><script>window.hurt=1</script><img src=x onerror="window.hurt=1">{{.}}</script></style></svg>|` + "\u202e\n\x00\t"
	for i := range d.Rows {
		r := &d.Rows[i]
		for _, f := range []*string{&r.Cell, &r.Transport, &r.Client, &r.Server, &r.Wait, &r.Depth, &r.Subscribers, &r.Options, &r.CPURelation,
			&r.Machine, &r.Source, &r.Reason, &r.Mode, &r.Scope, &r.Scenario, &r.Loop, &r.Latency, &r.Verdict} {
			*f = bad + *f
		}
	}
	for i := range d.Strips {
		d.Strips[i].Cell = bad + d.Strips[i].Cell
	}
	d.Facts = append(d.Facts, results.Fact{Key: bad, Value: bad}, results.Fact{Key: "-x", Value: "@x"})
	d.Name = bad
}
