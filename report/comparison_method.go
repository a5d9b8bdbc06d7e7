package report

import (
	"fmt"
	"slices"
	"strings"

	"msgbench/results"
)

// What lies between the two stamps of each kind of latency.
var windows = []struct{ kind, text string }{
	{results.RTT, "from just before a request is sent to just after its reply is received, seen by the client: both directions"},
	{results.Service, "from the moment a request was really sent to its reply: both directions; what it waited before is not in it"},
	{results.Response, "from the moment a request was due to its reply: both directions, and what it waited because an earlier one was late"},
	{results.OneWay, "from just before a message is sent by the publisher to just after it is received by a subscriber: one direction, one clock for both processes"},
	{results.Cycle, "from the first of several requests sent back to back to the last of their replies"},
}

var loops = []struct{ loop, text string }{
	{results.Closed, "the next message goes out when the reply is there; nothing is sent in between"},
	{results.Paced, "each message goes out at its intended time, one in flight, and at once where that has passed"},
	{results.Open, "the sender waits for nobody"},
	{results.Pausing, "the next message goes out when the reply is there and the program, which is not ours, has slept: its rate is no maximum"},
}

// inside tells what is inside the measured window: by loop and kind of latency, then by transport.
func inside(b *strings.Builder, d Document) {
	b.WriteString("### What is inside the measured window\n\n")
	has := func(f func(*results.Row) bool) bool {
		for i := range d.Rows {
			if f(&d.Rows[i]) {
				return true
			}
		}
		return false
	}
	for _, w := range windows {
		if has(func(r *results.Row) bool { return r.Latency == w.kind }) {
			fmt.Fprintf(b, "- %s: %s.\n", latencyName(w.kind), w.text)
		}
	}
	for _, l := range loops {
		if has(func(r *results.Row) bool { return r.Loop == l.loop }) {
			fmt.Fprintf(b, "- %s loop: %s.\n", l.loop, l.text)
		}
	}
	b.WriteString("- Not inside: connecting, warm-up, making the payload, checking counts after the window.\n\n")
	type key struct{ name, scope, hops, wait, relation, options string }
	var order []key
	seen := map[key]bool{}
	for i := range d.Rows {
		r := &d.Rows[i]
		if r.Latency == "" {
			continue
		}
		k := key{r.Transport + pairOf(r), r.Scope, r.Hops.String(), r.Wait, r.CPURelation, r.Options}
		if !seen[k] {
			seen[k] = true
			order = append(order, k)
		}
	}
	slices.SortStableFunc(order, func(a, b key) int { return strings.Compare(a.name, b.name) })
	const most = 200
	var rows [][]string
	for _, k := range order[:min(len(order), most)] {
		serializes, broker := "no: bytes as they are", "no"
		if k.scope == "stack" {
			serializes = "yes, field by field, and the call of the method"
		}
		if number(k.hops) > 1 {
			broker = "yes"
		}
		rows = append(rows, []string{cell(k.name), serializes, broker, cell(k.hops), cell(k.wait), cell(k.relation), cell(k.options)})
	}
	markdownTable(b, []string{"Transport", "Serialization and dispatch inside", "Broker between", "Hops one way", "Wait", "CPUs", "Settings"}, 7, rows)
	if len(order) > most {
		fmt.Fprintf(b, "And %d more.\n\n", len(order)-most)
	}
}

// pairOf is the peers of a row, empty for the built-in ones.
func pairOf(r *results.Row) string {
	if r.Client == "go" && r.Server == "go" {
		return ""
	}
	return " " + r.Client + "→" + r.Server
}

// messageSizes tells payload and bytes on the wire.
func messageSizes(b *strings.Builder, rows []results.Row) {
	type key struct {
		scenario, transport        string
		payload, request, response results.Num
	}
	var order []key
	seen := map[key]bool{}
	for i := range rows {
		r := &rows[i]
		k := key{r.Scenario, r.Transport, r.Payload, r.RequestBytes, r.ResponseBytes}
		if !seen[k] && (k.request.OK() || k.response.OK()) {
			seen[k] = true
			order = append(order, k)
		}
	}
	slices.SortStableFunc(order, func(a, b key) int {
		return compareSubjects(subject{scenario: a.scenario, payload: a.payload}, subject{scenario: b.scenario, payload: b.payload})
	})
	if len(order) == 0 {
		b.WriteString("The rows do not tell the bytes on the wire.\n\n")
		return
	}
	const most = 200
	var lines [][]string
	for _, k := range order[:min(len(order), most)] {
		lines = append(lines, []string{cell(k.scenario), cell(k.transport), k.payload.String(), k.request.String(), k.response.String()})
	}
	markdownTable(b, []string{"Scenario", "Transport", "Payload B", "Request B", "Response B"}, 2, lines)
	if len(order) > most {
		fmt.Fprintf(b, "And %d more.\n\n", len(order)-most)
	}
	b.WriteString("Request and response: payload and envelope, and the header of a broker. What a library adds for framing is not in them.\n\n")
}
