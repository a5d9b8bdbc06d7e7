// Package results holds the words of msgbench as types (Cell, Sample, Row), the journal and the CSV.
package results

import (
	"sort"
	"strconv"
	"strings"
	"time"

	"msgbench/results/hist"
)

// The roles of processes in a cell.
const (
	Client     = "client"
	Server     = "server"
	Broker     = "broker"
	Publisher  = "publisher"
	Subscriber = "subscriber"
)

// RoleOf is the role of a process by its name, which has a number at its end where a role has several: subscriber-2.
func RoleOf(process string) string {
	return strings.TrimRight(strings.TrimRight(process, "0123456789"), "-")
}

// NoPayload is the Payload of a cell whose messages have no size to choose.
const NoPayload = -1

// Cell is one point of the matrix.
type Cell struct {
	Scenario  string            `json:"scenario"`
	Transport string            `json:"transport"` // "-" for a scenario without one
	Client    string            `json:"client"`    // peers
	Server    string            `json:"server"`
	Payload   int               `json:"payload_bytes"`      // NoPayload where it does not apply
	Rate      int               `json:"target_rps"`         // operations per second; 0: max
	Dims      map[string]string `json:"dims,omitempty"`     // dimensions that are not at their default
	Defaults  map[string]string `json:"defaults,omitempty"` // dimensions that apply and are at their default
}

// Key names the cell everywhere: scenario/transport/client-server/<bytes>B/<max or integer>, then /dim=value for each
// dimension that is not at its default, sorted by name. Keys are printed and matched, never parsed.
func (c Cell) Key() string {
	var b strings.Builder
	b.WriteString(c.Scenario + "/" + c.Transport + "/" + c.Pair() + "/" + c.PayloadString() + "/" + RateString(c.Rate))
	names := make([]string, 0, len(c.Dims))
	for n := range c.Dims {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		b.WriteString("/" + n + "=" + c.Dims[n])
	}
	return b.String()
}

// Pair is client-server.
func (c Cell) Pair() string { return c.Client + "-" + c.Server }

// PayloadString is "64B", or "-" where there is no payload to choose.
func (c Cell) PayloadString() string {
	if c.Payload == NoPayload {
		return "-"
	}
	return strconv.Itoa(c.Payload) + "B"
}

// Dim is the value of a dimension, at its default or not; empty where it does not apply.
func (c Cell) Dim(name string) string {
	if v, ok := c.Dims[name]; ok {
		return v
	}
	return c.Defaults[name]
}

// RateString is "max" for 0, else the integer.
func RateString(rate int) string {
	if rate == 0 {
		return "max"
	}
	return strconv.Itoa(rate)
}

// Loop says when the next message goes out.
const (
	Closed  = "closed"  // as soon as the reply is there
	Paced   = "paced"   // at its intended time, or at once when that has passed; one in flight
	Open    = "open"    // without waiting for anyone
	Pausing = "pausing" // when the reply is there and a peer of others has slept: its throughput is no maximum
)

// LatencyKind says what the main latency columns measure.
const (
	RTT      = "rtt"      // sent → reply
	OneWay   = "one-way"  // sent → received
	Cycle    = "cycle"    // first of several sent → last reply
	Service  = "service"  // sent → reply, of a paced loop
	Response = "response" // intended → reply
)

// Outcome says what became of one execution of a cell.
const (
	OK       = "ok"
	Rejected = "rejected" // measured, but not a sample of what was asked for: see Reason
	Failed   = "failed"
	Skipped  = "skipped" // never started: see Reason
	Search   = "step"    // of the search for a ceiling: see Step; none of the cell's samples
	// Disturbed: others had the CPUs for too long (see Interference), and the cell is measured again in the same round. One that
	// is not, since the run's budget is used up, has the outcome that it would have had undisturbed.
	Disturbed = "disturbed"
	// Calibrated is no sample of a cell but what the machine did at the start of a round: see Calibration. Its Cell is
	// CalibrationCell.
	Calibrated = "calibration"
)

// CalibrationCell stands in the journal where other lines have the key of their cell.
const CalibrationCell = "calibration"

// Step is one try of one rate in the search for the highest rate that a one-way cell at max holds. Where it does not hold,
// the sample has the reason.
type Step struct {
	Rate  int  `json:"rate_rps"` // offered: messages per second, in all channels
	Holds bool `json:"holds"`
	// Slope of the backlog in messages per second, and its 95 % interval.
	Slope   float64 `json:"backlog_slope"`
	SlopeLo float64 `json:"backlog_slope_lo"`
	SlopeHi float64 `json:"backlog_slope_hi"`
}

// Sample is one execution of one cell in processes of its own: one line of the journal.
type Sample struct {
	Line        int                  `json:"-"` // of the journal that it was read from, from 1; 0: not known
	Version     int                  `json:"v"`
	Cell        string               `json:"cell"`  // key
	Order       int                  `json:"order"` // place in the run, from 0
	Round       int                  `json:"round"` // from 0, over all attempts
	Attempt     int                  `json:"attempt"`
	Try         int                  `json:"try"` // from 0; above 0 where an earlier try of the same round was rejected
	Started     time.Time            `json:"started"`
	Outcome     string               `json:"outcome"`
	Reason      string               `json:"reason,omitempty"`
	Stderr      map[string]string    `json:"stderr,omitempty"` // last lines by role, of failed samples
	Measurement *Measurement         `json:"measurement,omitempty"`
	Step        *Step                `json:"step,omitempty"`      // of outcome step
	Placement   map[string]Placement `json:"placement,omitempty"` // by role
	Relation    string               `json:"cpu_relation,omitempty"`
	// Interference is what else happened on the machine meanwhile; nil where the system does not tell.
	Interference *Interference `json:"interference,omitempty"`
	Calibration  *Calibration  `json:"calibration,omitempty"` // of outcome calibration
	// Boots is Resumption.Boots where a machine of the run has been booted since the run began; empty before that.
	Boots  string `json:"boots,omitempty"`
	WallNs int64  `json:"wall_ns"` // from start of the first process to the end of the last
}

// Placement is where one process ran, as the kernel tells.
type Placement struct {
	PID     int    `json:"pid"`
	Host    string `json:"host,omitempty"`         // where that is not the runner's
	Asked   []int  `json:"asked,omitempty"`        // CPUs asked for; empty: not pinned
	Allowed []int  `json:"allowed,omitempty"`      // CPUs read back from the running process
	RT      int    `json:"rt,omitempty"`           // real-time priority, read back; 0: none
	Locked  int64  `json:"locked_bytes,omitempty"` // addresses that are locked, those only reserved among them
}

// Measurement is what was measured in one window. Durations are in ns. A worker prints the fields that it knows, and
// the runner joins those of all roles.
type Measurement struct {
	Loop        string `json:"loop,omitempty"`
	LatencyKind string `json:"latency,omitempty"`
	WarmupNs    int64  `json:"warmup_ns,omitempty"`
	WarmupOps   int64  `json:"warmup_ops,omitempty"`
	WindowNs    int64  `json:"window_ns,omitempty"`
	Ops         int64  `json:"ops,omitempty"`      // operations (items, publications) completed in the window
	Messages    int64  `json:"messages,omitempty"` // messages delivered in the window: requests, batches, deliveries
	// PayloadBytes is what was received as payload in the window, by the client or by all subscribers.
	PayloadBytes int64 `json:"payload_bytes,omitempty"`

	Sent       int64 `json:"sent,omitempty"`
	Received   int64 `json:"received,omitempty"`
	Lost       int64 `json:"lost,omitempty"`
	Duplicated int64 `json:"duplicated,omitempty"`
	Reordered  int64 `json:"reordered,omitempty"`

	Receivers []Counts `json:"receivers,omitempty"` // of each subscriber, in their order

	Latency  *hist.Hist `json:"latency_hist,omitempty"`
	Service  *hist.Hist `json:"service_hist,omitempty"` // paced and open loops, where Latency is the response time
	Lateness *hist.Hist `json:"lateness_hist,omitempty"`
	// ClockErrorNs is the bound of the error of one-way latencies: the step of the clock and what a reading costs.
	ClockErrorNs int64 `json:"clock_error_ns,omitempty"`

	Thirds   []int64 `json:"thirds,omitempty"`    // operations in each third of the window
	ThirdsNs []int64 `json:"thirds_ns,omitempty"` // how long each third took; empty: all the same
	Series   *Series `json:"series,omitempty"`    // of one-way streams

	CPUNs   map[string]int64 `json:"cpu_ns,omitempty"`   // by role, over exactly the window
	PacerNs int64            `json:"pacer_ns,omitempty"` // spun by the pacer; part of CPUNs of its role

	RequestBytes  int64 `json:"request_bytes,omitempty"`  // mean on the wire, framing included
	ResponseBytes int64 `json:"response_bytes,omitempty"` // likewise
	Hops          int   `json:"hops,omitempty"`           // processes or sockets crossed one way

	GC      map[string]int64  `json:"gc,omitempty"`      // collections in the window, by role
	Mallocs map[string]int64  `json:"mallocs,omitempty"` // objects allocated in the window, by role
	RSS     map[string]int64  `json:"rss_bytes,omitempty"`
	Router  map[string]int64  `json:"router,omitempty"` // what a process in the middle has counted, warm-up included
	Facts   map[string]string `json:"facts,omitempty"`  // settings chosen by the adapter; "server." before those that differ there
}

// Counts are the messages of one receiver.
type Counts struct {
	Received   int64 `json:"received"`
	Lost       int64 `json:"lost,omitempty"`
	Duplicated int64 `json:"duplicated,omitempty"`
	Reordered  int64 `json:"reordered,omitempty"`
}

// Throughput is operations per second; 0 for an empty window.
func (m *Measurement) Throughput() float64 { return m.perSecond(m.Ops) }

// MessagesPerSecond counts messages as received.
func (m *Measurement) MessagesPerSecond() float64 { return m.perSecond(m.Messages) }

// Speed is Row.Speed of one sample of a scenario.
func (m *Measurement) Speed(scenario string) float64 {
	if scenario == broadcast {
		return m.MessagesPerSecond()
	}
	return m.Throughput()
}

// MBPerSecond is payload received, in units of 10^6 bytes.
func (m *Measurement) MBPerSecond() float64 { return m.perSecond(m.PayloadBytes) / 1e6 }

func (m *Measurement) perSecond(n int64) float64 {
	if m.WindowNs <= 0 {
		return 0
	}
	return float64(n) * 1e9 / float64(m.WindowNs)
}
