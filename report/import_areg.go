package report

import (
	"bytes"
	"strconv"
	"strings"

	"msgbench/results"
)

const aregColumns = "run,timestamp,mode,stop,count,warmup,req_dur_ms,target_msg_s,min_us,p50_us,p95_us,p99_us,max_us,mean_us,dur_ms,msg_s"

const aregFlaws = "each row is one run (its page shows means over runs, of percentiles too); at 5000 samples p99 rests on 50 of them; " +
	"msg/s of bc modes includes a request for the next message that is not in the latency, and falls from run to run through a " +
	"listener leak that is fixed since; no CPU figures"

// The payloads of the modes, in bytes; on the wire 140 B come on top, and 8 B more in responses.
var aregSizes = []int{0, 8, 16, 32, 64, 128, 256, 512, 1024, 4096, 65536}

func aregModes() map[string]string {
	m := map[string]string{}
	for _, kind := range []string{"bc", "pp"} {
		for _, n := range aregSizes {
			m[kind+strconv.Itoa(n)] = kind + strconv.Itoa(n)
		}
	}
	return m
}

// readAreg reads one row a run of a mode: pp is a round trip, bc one way. The published file has ; between fields and
// comment lines filled up with them; what the tool writes has commas.
func readAreg(f *publishedFile) error {
	if f.machine == "" {
		f.machine = orText(f.fact("benchmark_hardware"), "not named in the file")
	}
	if date := f.fact("exported_at"); date != "" {
		f.facts = append(f.facts, results.Fact{Key: "date", Value: date})
	}
	head, _, _ := bytes.Cut(f.data, []byte("\n"))
	comma := ','
	if bytes.ContainsRune(head, ';') {
		comma = ';'
	}
	modes := aregModes()
	return f.each(aregColumns, comma, func(p *published) results.Row {
		mode := p.word("mode", modes)
		if p.err != nil {
			return results.Row{}
		}
		size, _ := strconv.Atoi(mode[2:])
		c := results.Cell{
			Scenario: "ping-pong", Transport: "areg", Client: "areg", Server: "areg", Payload: size, Rate: p.integer("target_msg_s"),
			Dims: map[string]string{}, Defaults: map[string]string{"scope": "stack"},
		}
		run := p.integer("run")
		if run > 0 { // 0: figures of a page, which are means over runs
			c.Dims["run"] = strconv.Itoa(run)
		}
		latency := results.RTT
		if mode[:2] == "bc" {
			c.Scenario, latency = "broadcast", results.OneWay
			c.Defaults["subscribers"], c.Dims["mode"] = "1", "pull" // the consumer asks for each message
		}
		r := importedRow(c)
		r.Latency = latency
		r.MinUs, r.MaxUs, r.MeanUs = p.positive("min_us", 1), p.maybe("max_us", 1), p.positive("mean_us", 1)
		r.P50Us, r.P95Us, r.P99Us = p.maybe("p50_us", 1), p.maybe("p95_us", 1), p.maybe("p99_us", 1)
		r.Throughput = p.maybe("msg_s", 1)
		n := p.integer("count")
		r.Sent, r.Hops = results.N(float64(n)), results.N(2)
		r.RequestBytes = results.N(float64(140 + size))
		if latency == results.RTT {
			r.ResponseBytes = results.N(float64(148 + size))
		}
		r.Options = strings.Join([]string{"count=" + p.text("count"), "dur_ms=" + p.maybe("dur_ms", 1).String(), "mode=" + mode,
			"req_dur_ms=" + p.num("req_dur_ms", 1).String(), "run=" + p.text("run"), "stop=" + option(p.text("stop")),
			"timestamp=" + option(p.text("timestamp")), "warmup=" + strconv.Itoa(p.integer("warmup"))}, ";")
		r.Reason = "one broker between, and the whole stack of the framework in the window"
		if run > 0 {
			r.Samples = results.N(1)
			r.Reason = "one run, not repeated samples; " + r.Reason
		}
		if !r.P50Us.OK() {
			r.Reason += "; no p50"
		}
		if n < 1000 {
			r.Reason += "; p99 rests on fewer than 10 samples" + ": " + strconv.Itoa(n) + " in all"
		}
		if c.Rate > 0 {
			r.Loop = results.Paced
			r.Reason += "; latency starts after the wait for the rate"
		}
		return r
	})
}

// option keeps a value of the options column from ending it.
func option(s string) string { return strings.ReplaceAll(oneLine(s), ";", ",") }
