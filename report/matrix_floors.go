package report

import (
	"fmt"
	"strings"

	"msgbench/results"
)

// pageFloor is a floor of the page that netipc publishes.
type pageFloor struct {
	name, text          string
	scenario, transport string
	without             string // pairs with this peer do not count
	above               bool   // more than min, else at least
	min                 float64
}

var pageFloors = []pageFloor{
	{"Win SHM ping-pong max (C/Rust pairs)", ">= 1M req/s", "ping-pong", "win-shm", "go", false, 1e6},
	{"Named Pipe ping-pong max", "> 0 req/s", "ping-pong", "np", "", true, 0},
	{"Local cache lookup", ">= 10M lookups/s", "lookup", "", "", false, 1e7},
}

// matrixFloors shows what the floors of the published page would say. Imported figures are not ours to judge: the
// status says what was published, and measured rows have floors of their own (msgbench check).
func matrixFloors(b *strings.Builder, d Document) {
	b.WriteString("## Performance Floors\n\n")
	var rows [][]string
	for _, f := range pageFloors {
		if lowest, n := f.lowest(d.Rows); n > 0 {
			status := "published figures keep it"
			if v := lowest.Or(0); v < f.min || f.above && v <= f.min {
				status = "published figures break it"
			}
			rows = append(rows, []string{f.name, f.text, count(lowest), fmt.Sprint(n), status})
		}
	}
	if len(rows) == 0 {
		b.WriteString("Floors of measured rows are a file of their own: `msgbench check --floors FILE`.\n\n")
		return
	}
	markdownTable(b, []string{"Metric", "Floor", "Lowest", "Rows", "Status"}, 2, rows)
	b.WriteString("Imported rows are never judged as a floor: the status tells what the published figures say.\n\n")
}

// lowest is the lowest throughput of the imported rows that the floor is about, and how many there are.
func (f pageFloor) lowest(rows []results.Row) (results.Num, int) {
	var lowest results.Num
	n := 0
	for i := range rows {
		r := &rows[i]
		if r.Source != sourceNetipc || r.Scenario != f.scenario || f.transport != "" && r.Transport != f.transport ||
			r.TargetRPS != "max" || f.without != "" && (r.Client == f.without || r.Server == f.without) {
			continue
		}
		n++
		if !lowest.OK() || r.Throughput.Or(0) < lowest.Or(0) {
			lowest = results.N(r.Throughput.Or(0))
		}
	}
	return lowest, n
}
