package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"msgbench/results"
)

const hitachiColumns = "Library,Protocol,Messages Sent,Payload Length,Pub Delay,Pub Interval,Num Subscribers,Messages Received," +
	"Total Time,Throughput,Payload Throughput,Min Latency,Avg Latency,P90 Latency,P99 Latency,Max Latency,Mean Jitter,Median CPU,Median MEM"

const hitachiFlaws = "percentiles are means over 4 runs and over the subscribers; no p50, no p95; times lie on a grid of 256 ns; the " +
	"publisher sleeps between messages (at least 60 µs, also at an interval of 0), so no row is at maximum rate; messages that " +
	"were lost are not told, since the socket is closed right after the last send; whose the CPU and memory figures are is not told"

// hitachiLibraries gives the family of transports and the peer. NNG and nanomsg speak the same protocols.
var hitachiLibraries = map[string]string{"zeromq": "zmq libzmq", "nanomsg": "nng libnanomsg", "nng": "nng libnng"}

var hitachiProtocols = map[string]string{"tcp": "tcp", "ipc": "ipc", "inproc": "inproc"}

// readHitachi reads one row a cell: one publisher, some subscribers, one-way latency. The file has s for the total
// time, µs for the interval, ns for latencies and 10^6 B/s; throughput is that of one subscriber.
func readHitachi(f *publishedFile) error {
	if f.machine == "" {
		f.machine = "Intel Xeon w3-2435, 8 cores, 64 GB RAM (arXiv:2508.07934)"
	}
	return f.each(hitachiColumns, ',', func(p *published) results.Row {
		family, peer, _ := strings.Cut(p.word("Library", hitachiLibraries), " ")
		subscribers, interval := p.integer("Num Subscribers"), p.integer("Pub Interval")
		if subscribers == 0 {
			p.fail("Num Subscribers", "above 0")
		}
		c := results.Cell{
			Scenario: "broadcast", Transport: family + "-" + p.word("Protocol", hitachiProtocols), Client: peer, Server: peer,
			Payload: p.integer("Payload Length"), Dims: map[string]string{}, Defaults: map[string]string{},
		}
		at := c.Defaults
		if subscribers > 1 {
			at = c.Dims
		}
		at["subscribers"] = strconv.Itoa(subscribers)
		if interval > 0 {
			c.Rate = int(math.Round(1e6 / float64(interval))) // the pause is in µs
			c.Defaults["mode"] = "rate"
		} else {
			c.Dims["mode"] = "flood"
		}
		r := importedRow(c)
		r.Loop, r.Latency = results.Open, results.OneWay
		r.Throughput, r.MBPerS = p.num("Throughput", 1), p.num("Payload Throughput", 1)
		const us = 1e-3
		r.MinUs, r.MeanUs, r.MaxUs = p.num("Min Latency", us), p.num("Avg Latency", us), p.num("Max Latency", us)
		r.P90Us, r.P99Us = p.num("P90 Latency", us), p.num("P99 Latency", us)
		sent, received := p.number64("Messages Sent", 1), p.number64("Messages Received", 1)
		if received > sent {
			p.fail("Messages Received", fmt.Sprintf("at most the %g sent", sent))
		}
		r.Sent, r.Received, r.Lost = results.N(sent), results.N(received), results.N(sent-received)
		r.Samples, r.Hops = results.N(4), results.N(1)
		r.Options = strings.Join([]string{"mean_jitter_ns=" + p.num("Mean Jitter", 1).String(), "median_cpu_pct=" + p.num("Median CPU", 1).String(),
			"median_mem=" + strconv.FormatFloat(p.number64("Median MEM", 1), 'g', -1, 64), "pub_delay_ms=" + strconv.Itoa(p.integer("Pub Delay")),
			"pub_interval_us=" + strconv.Itoa(interval), "total_time_s=" + p.num("Total Time", 1).String()}, ";")
		r.Reason = "percentiles are means over 4 runs; no p50, no p95; times on a grid of 256 ns"
		if interval == 0 {
			r.Reason += "; not the maximum rate, since the publisher sleeps between messages"
		} else {
			r.Reason += "; the rate is a pause between messages, which lasts longer than asked for"
		}
		if received < sent {
			r.Reason += fmt.Sprintf("; lost messages, which the file does not say: %g of %g a subscriber", sent-received, sent)
		}
		return r
	})
}
