package scenarios

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"msgbench/results"
	"msgbench/transports"
)

// account of one run of a scenario: what each of its processes measured, before they are joined.
type measured struct {
	name   string
	s      Scenario
	p      Params
	driver *results.Measurement
	others []*results.Measurement
}

// copied is the same again, through JSON as from another process, with one field of one side changed.
func (x measured) copied(t *testing.T, side string, change func(map[string]any)) (*results.Measurement, []*results.Measurement) {
	t.Helper()
	again := func(m *results.Measurement, change func(map[string]any)) *results.Measurement {
		data, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if change != nil {
			fields := map[string]any{}
			if err := json.Unmarshal(data, &fields); err != nil {
				t.Fatal(err)
			}
			change(fields)
			if data, err = json.Marshal(fields); err != nil {
				t.Fatal(err)
			}
		}
		var c results.Measurement
		if err := json.Unmarshal(data, &c); err != nil {
			t.Fatal(err)
		}
		return &c
	}
	mine := map[string]func(map[string]any){side: change}
	var others []*results.Measurement
	for i, o := range x.others {
		others = append(others, again(o, mine[fmt.Sprint("other", i)]))
	}
	return again(x.driver, mine["driver"]), others
}

// runsOfAll runs each scenario once.
func runsOfAll(t *testing.T) []measured {
	t.Helper()
	var all []measured
	for _, c := range []struct {
		s    Scenario
		mode string
		rate int
	}{{PingPong, "", 0}, {PingPong, "", 2000}, {Batch, "", 0}, {Batch, "", 2000}, {Pipeline, modeCycle, 0}, {Pipeline, modeWindow, 0},
		{PipelineBatch, "", 0}, {Snapshot, "", 0}} {
		p := smallParams(64, c.rate)
		p.Mode, p.Depth = c.mode, 4
		client, server := pair()
		m, ms, err, serr := runPair(t, c.s, p, client, server)
		if err != nil || serr != nil {
			t.Fatalf("%s: %v %v", c.s.Name, err, serr)
		}
		all = append(all, measured{fmt.Sprint(c.s.Name, " ", c.mode, c.rate), c.s, p, m, []*results.Measurement{ms}})
	}
	p := smallParams(results.NoPayload, 0)
	m, err := lookupClient(&Side{Role: results.Client, Params: p, Measuring: func() {}, Done: func() {}})
	if err != nil {
		t.Fatal(err)
	}
	all = append(all, measured{"lookup", Lookup, p, m, nil})
	for _, rate := range []int{0, 2000} {
		p := smallParams(64, rate)
		p.Channels = 2
		var drivers, servers []*results.Measurement
		unjoined := DataRate
		unjoined.Join = func(_ Params, m *results.Measurement, others []*results.Measurement) error {
			drivers, servers = append(drivers, m), others
			return nil
		}
		if err := runUnjoined(t, unjoined, p); err != nil {
			t.Fatal(err)
		}
		all = append(all, measured{fmt.Sprint("data-rate ", rate), DataRate, p, drivers[0], servers})
	}
	return append(all, broadcasts(t)...)
}

// runUnjoined runs both sides of a stream and hands what they measured to the scenario's Join.
func runUnjoined(t *testing.T, s Scenario, p Params) error {
	t.Helper()
	client, server := &Side{Params: p, Measuring: func() {}, Done: func() {}}, &Side{Params: p}
	for range p.Channels {
		c, x := pair()
		client.Conns, server.Conns = append(client.Conns, c), append(server.Conns, x)
	}
	type end struct {
		m   *results.Measurement
		err error
	}
	ended := make(chan end, 1)
	go func() {
		m, err := s.Roles(p)[0].Run(server)
		ended <- end{m, err}
	}()
	m, err := s.Driver(p).Run(client)
	o := <-ended
	if err != nil || o.err != nil {
		return fmt.Errorf("%v, %v", err, o.err)
	}
	return s.Join(p, m, []*results.Measurement{o.m})
}

// broadcasts runs each mode with two subscribers.
func broadcasts(t *testing.T) []measured {
	t.Helper()
	var all []measured
	for _, mode := range []string{modePull, modeRate, modeFlood} {
		rate := 0
		if mode == modeRate {
			rate = 1000
		}
		p := broadcastParams(mode, rate, 2)
		var ends []transports.Conn
		subs := make([]*results.Measurement, 2)
		errs := make(chan error, 2)
		for i := range subs {
			pub, sub := pair()
			ends = append(ends, pub)
			go func() {
				var err error
				subs[i], err = subscribe(&Side{Role: results.Subscriber, Conns: []transports.Conn{sub}, Params: p})
				errs <- err
			}()
		}
		m, err := publish(&Side{Role: results.Publisher, Conns: ends, Params: p, Measuring: func() {}, Done: func() {}})
		if err != nil {
			t.Fatal(err)
		}
		for range subs {
			if err := <-errs; err != nil {
				t.Fatal(err)
			}
		}
		all = append(all, measured{"broadcast " + mode, Broadcast, p, m, subs})
	}
	return all
}

// Whoever tells a figure of a window wrongly is refused, in every scenario: by what others say, or by his own other figures.
func TestJoinRefusesWrongFigures(t *testing.T) {
	set := func(v any) func(old any) any { return func(any) any { return v } }
	more := func(by float64) func(old any) any {
		return func(old any) any { f, _ := old.(float64); return f + by }
	}
	oneMore := func(old any) any { // the first value of a histogram came once more
		h, ok := old.(map[string]any)
		if !ok {
			return map[string]any{"min": 1, "max": 1, "sum": 1, "values": [][2]int{{1, 1}}}
		}
		first := h["values"].([]any)[0].([]any)
		first[1] = first[1].(float64) + 1
		h["sum"] = h["sum"].(float64) + first[0].(float64)
		return h
	}
	longer := func(old any) any { // one value is a minute
		h := old.(map[string]any)
		values := h["values"].([]any)
		last := values[len(values)-1].([]any)
		h["sum"] = h["sum"].(float64) - h["max"].(float64) + 6e10
		h["max"] = 6e10
		if last[1].(float64) > 1 {
			last[1] = last[1].(float64) - 1
			values = append(values, []any{6e10, 1})
		} else {
			values[len(values)-1] = []any{6e10, 1}
		}
		h["values"] = values
		return h
	}
	grown := func(old any) any { // one more in the first of a list
		l, ok := old.([]any)
		if !ok || len(l) == 0 {
			return []any{1.0}
		}
		l[0] = l[0].(float64) + 1
		return l
	}
	type fault struct {
		name, side, field string
		change            func(old any) any
	}
	replies := []fault{
		{"another loop", "driver", "loop", set("open")}, {"another latency", "driver", "latency", set("one-way")},
		{"more operations", "driver", "ops", more(1e6)}, {"no operations", "driver", "ops", set(0)},
		{"more messages", "driver", "messages", more(1)}, {"more sent", "driver", "sent", more(1)}, {"fewer received", "driver", "received", more(-1)},
		{"lost", "driver", "lost", more(1)}, {"twice", "driver", "duplicated", more(1)}, {"late", "driver", "reordered", more(1)},
		{"more payload", "driver", "payload_bytes", more(1)}, {"a latency more", "driver", "latency_hist", oneMore},
		{"a long latency", "driver", "latency_hist", longer},
		{"no latencies", "driver", "latency_hist", set(nil)}, {"service times", "driver", "service_hist", oneMore},
		{"lateness", "driver", "lateness_hist", oneMore}, {"thirds", "driver", "thirds", grown}, {"no thirds", "driver", "thirds", set([]int{})},
		{"long thirds", "driver", "thirds_ns", set([]int64{1e12, 1, 1})}, {"a short window", "driver", "window_ns", set(1000)},
		{"the server received more", "other0", "received", more(1)},
	}
	faults := map[string][]fault{
		"lookup": {
			{"more operations", "driver", "ops", more(1)}, {"messages", "driver", "messages", more(1)}, {"another loop", "driver", "loop", set("paced")},
			{"a latency", "driver", "latency_hist", oneMore}, {"thirds", "driver", "thirds", grown}, {"long thirds", "driver", "thirds_ns", set([]int64{1e12, 1, 1})},
		},
		"data-rate": {
			{"another loop", "driver", "loop", set("closed")}, {"more sent", "driver", "sent", more(1)}, {"lateness", "driver", "lateness_hist", oneMore},
			{"sent steps", "driver", "series", func(any) any { return map[string]any{"step_ns": 1e8, "sent": []int{1}} }}, {"no series", "driver", "series", set(nil)},
			{"a short window of the client's", "driver", "window_ns", set(1000)},
			{"more received", "other0", "received", more(1)}, {"fewer received", "other0", "received", more(-1)},
			{"a loss", "other0", "lost", more(1)}, {"one lost of all", "other0", "", nil}, {"twice", "other0", "duplicated", more(1)},
			{"late", "other0", "reordered", more(1)},
			{"payload", "other0", "payload_bytes", more(1)}, {"thirds", "other0", "thirds", grown}, {"another latency", "other0", "latency", set("rtt")},
			{"a latency", "other0", "latency_hist", oneMore}, {"a service time", "other0", "service_hist", oneMore},
			{"a long window", "other0", "window_ns", more(1e12)},
			{"received steps", "other0", "series", func(any) any { return map[string]any{"step_ns": 1e8, "received": []int{1}} }},
			{"other steps", "other0", "series", func(old any) any { m := old.(map[string]any); m["step_ns"] = 1e7; return m }},
			{"no series", "other0", "series", set(nil)},
		},
		"broadcast": {
			{"another loop", "driver", "loop", set("paced")}, {"another latency", "driver", "latency", set("rtt")}, {"more operations", "driver", "ops", more(1)},
			{"lateness", "driver", "lateness_hist", oneMore}, {"a latency of the publisher's", "driver", "latency_hist", oneMore}, {"thirds", "driver", "thirds", grown},
			{"no broadcast", "driver", "facts", set(map[string]string{})},
			{"lossy", "driver", "facts", set(map[string]string{"broadcast": "fan-out", "lossy": "yes"})},
			{"fewer received", "other1", "received", more(-1)}, {"a loss", "other1", "lost", more(1)}, {"one lost of all", "other1", "", nil},
			{"fewer than none", "other1", "duplicated", set(-1)}, {"twice", "other1", "duplicated", more(1)}, {"late", "other1", "reordered", more(1)},
			{"a latency", "other1", "latency_hist", oneMore}, {"a service time", "other0", "service_hist", oneMore},
		},
	}
	for _, x := range runsOfAll(t) {
		m, others := x.copied(t, "", nil)
		if err := x.s.Join(x.p, m, others); err != nil {
			t.Errorf("%s: as it was measured: %v", x.name, err)
			continue
		}
		list, ok := faults[x.s.Name]
		if !ok {
			list = replies
		}
		for _, f := range list {
			m, others := x.copied(t, f.side, func(fields map[string]any) {
				if f.field == "" { // in place of one that was received
					fields["received"], fields["lost"] = fields["received"].(float64)-1, 1
					return
				}
				fields[f.field] = f.change(fields[f.field])
			})
			err := x.s.Join(x.p, m, others)
			if err == nil {
				t.Errorf("%s: %s: nobody noticed", x.name, f.name)
			} else if strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: %s: not one line: %q", x.name, f.name, err)
			}
		}
	}
}
