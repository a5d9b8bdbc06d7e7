// Package protocol is what the runner and its workers say to each other: version 1 of the worker protocol, described for
// implementers in docs/worker-protocol.md. It is lines of text only, the same for workers in any language.
package protocol

import (
	"encoding/json"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"time"

	"msgbench/pinning"
	"msgbench/results"
)

// Version is the version of the protocol.
const Version = 1

// The words that begin a line. The runner says Start, Report and Stop, a worker the others.
const (
	Hello     = "hello"     // hello 1 {Description}: the answer to --describe
	Host      = "host"      // host {HostInfo}: the answer to --host
	Ready     = "ready"     // ready {ReadyInfo}: listening, or connected
	Start     = "start"     // start {StartInfo}
	Measuring = "measuring" // the window begins
	Done      = "done"      // the window has ended
	Result    = "result"    // result {results.Measurement}
	Error     = "error"     // error {ErrorInfo}: the last line of a worker that failed
	Report    = "report"    // to a broker: what has it counted?
	Stop      = "stop"
)

// MaxLine is the longest line in bytes that the runner reads from a worker.
const MaxLine = 16 << 20

// Description says what a worker can do.
type Description struct {
	Peer       string            `json:"peer"`
	Transports []string          `json:"transports"`
	Scenarios  []string          `json:"scenarios"`
	Versions   map[string]string `json:"versions"`
	Port0      bool              `json:"port0"` // can listen on a port that the system chooses
}

// HostInfo says what a host is, to a runner on another one.
type HostInfo struct {
	Machine      string           `json:"machine"` // in a line
	Boot         string           `json:"boot,omitempty"`
	Installation string           `json:"installation,omitempty"`
	Kernel       string           `json:"kernel,omitempty"`
	CPU          string           `json:"cpu,omitempty"` // model
	Topology     pinning.Topology `json:"topology"`
}

// ReadyInfo comes with Ready. A process that listens names its endpoints, each one word, one for each connection.
type ReadyInfo struct {
	Endpoints []string `json:"endpoints,omitempty"`
	Home      *Home    `json:"home,omitempty"` // of a process with Args.Listen
}

// Home is where a process on another host runs, which its runner can't see.
type Home struct {
	PID   int    `json:"pid"`
	Space string `json:"space,omitempty"` // machine.PIDSpace of the process
	CPUs  []int  `json:"cpus,omitempty"`  // that the kernel lets it run on; empty: not known
}

// StartInfo comes with Start.
type StartInfo struct {
	PIDs map[string][]int `json:"pids"` // processes by role
}

// ReportInfo comes with Report where the messages of a window are to be counted in steps; ns of the monotonic clock.
type ReportInfo struct {
	StartNs int64 `json:"start_ns"`
	StepNs  int64 `json:"step_ns"`
	Steps   int   `json:"steps"`
}

// ResultInfo comes with Result.
type ResultInfo struct {
	*results.Measurement
	// Interference is of a process with Args.Listen, and of those of its host that StartInfo named: from start to the end of its
	// window. Nil where the system does not tell, and of all others.
	Interference *results.Interference `json:"interference,omitempty"`
}

// ErrorInfo comes with Error.
type ErrorInfo struct {
	Reason string `json:"reason"`
	// PortTaken: the port that the runner reserved is somebody else's by now; it tries another one.
	PortTaken bool `json:"port_taken,omitempty"`
}

// Line is a word and, where one belongs to it, its JSON on one line.
func Line(word string, v any) ([]byte, error) {
	if v == nil {
		return []byte(word + "\n"), nil
	}
	data, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", word, err)
	}
	return append([]byte(word+" "), append(data, '\n')...), nil
}

// Args are the settings of one worker: the key=value words of its command line.
type Args struct {
	Role      string
	Scenario  string
	Transport string
	Payload   int // bytes, or results.NoPayload
	Rate      int // 0: max
	Warmup    time.Duration
	WarmupOps int64
	WarmupMax time.Duration
	Duration  time.Duration
	Count     int64  // operations of the window instead of its duration; 0: by duration
	Dir       string // for endpoints
	// Listen is the IPv4 address to listen on, where the other side is on another host; empty: 127.0.0.1. Such a process pins
	// itself to CPUs, which are empty for any, and ends by itself after Lifetime, should the runner be cut off.
	Listen    string
	CPUs      []int
	Lifetime  time.Duration
	Ports     []int             // to listen on, for a peer that can't let the system choose
	Endpoints []string          // of those who listen, in their order; none for a process that listens itself
	Broker    string            // endpoint of the process in the middle; empty where there is none, and for itself
	Profile   string            // file for a CPU profile of this process; empty: none. Only the built-in peer is told
	Mlock     bool              // lock all memory
	Dims      map[string]string // all that apply
}

// Words is the command line of a worker.
func (a Args) Words() []string {
	w := []string{
		"role=" + a.Role, "scenario=" + a.Scenario, "transport=" + a.Transport,
		"target_rps=" + results.RateString(a.Rate),
		"warmup_ns=" + strconv.FormatInt(int64(a.Warmup), 10), "warmup_ops=" + strconv.FormatInt(a.WarmupOps, 10),
		"warmup_max_ns=" + strconv.FormatInt(int64(a.WarmupMax), 10),
		"duration_ns=" + strconv.FormatInt(int64(a.Duration), 10), "dir=" + a.Dir,
	}
	if a.Payload != results.NoPayload {
		w = append(w, "payload_bytes="+strconv.Itoa(a.Payload))
	}
	if a.Count > 0 {
		w = append(w, "count="+strconv.FormatInt(a.Count, 10))
	}
	for _, p := range a.Ports {
		w = append(w, "port="+strconv.Itoa(p))
	}
	for _, e := range a.Endpoints {
		w = append(w, "endpoint="+e)
	}
	if a.Broker != "" {
		w = append(w, "broker="+a.Broker)
	}
	if a.Listen != "" {
		cpus := "" // any
		if len(a.CPUs) > 0 {
			cpus = pinning.FormatList(a.CPUs)
		}
		w = append(w, "listen="+a.Listen, "cpus="+cpus, "lifetime_ns="+strconv.FormatInt(int64(a.Lifetime), 10))
	}
	if a.Profile != "" {
		w = append(w, "profile="+a.Profile)
	}
	if a.Mlock {
		w = append(w, "mlock=on")
	}
	names := make([]string, 0, len(a.Dims))
	for n := range a.Dims {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		w = append(w, n+"="+a.Dims[n])
	}
	return w
}

// ParseArgs reads the words of a command line. A key that is none of Args' own is a dimension.
func ParseArgs(words []string) (Args, error) {
	a := Args{Payload: results.NoPayload, Dims: map[string]string{}}
	for _, w := range words {
		key, value, ok := strings.Cut(w, "=")
		if !ok || key == "" {
			return Args{}, fmt.Errorf("%q: want key=value", w)
		}
		var err error
		switch key {
		case "role":
			a.Role = value
		case "scenario":
			a.Scenario = value
		case "transport":
			a.Transport = value
		case "payload_bytes":
			a.Payload, err = strconv.Atoi(value)
		case "target_rps":
			if value != "max" {
				a.Rate, err = strconv.Atoi(value)
			}
		case "warmup_ns":
			err = parseNs(value, &a.Warmup)
		case "warmup_ops":
			a.WarmupOps, err = strconv.ParseInt(value, 10, 64)
		case "warmup_max_ns":
			err = parseNs(value, &a.WarmupMax)
		case "duration_ns":
			err = parseNs(value, &a.Duration)
		case "dir":
			a.Dir = value
		case "count":
			a.Count, err = strconv.ParseInt(value, 10, 64)
		case "port":
			var p int
			p, err = strconv.Atoi(value)
			a.Ports = append(a.Ports, p)
		case "broker":
			a.Broker = value
		case "listen":
			a.Listen = value
		case "cpus":
			a.CPUs, err = pinning.ParseList(value)
		case "lifetime_ns":
			err = parseNs(value, &a.Lifetime)
		case "profile":
			a.Profile = value
		case "mlock":
			a.Mlock = value == "on"
		case "endpoint":
			a.Endpoints = append(a.Endpoints, value)
		default:
			a.Dims[key] = value
		}
		if err != nil {
			return Args{}, fmt.Errorf("%s: %q is not a number", key, value)
		}
	}
	if a.Role == "" || a.Scenario == "" || a.Transport == "" {
		return Args{}, fmt.Errorf("want role=, scenario= and transport=")
	}
	if a.Payload < results.NoPayload || a.Rate < 0 || a.Count < 0 || a.Duration <= 0 {
		return Args{}, fmt.Errorf("want payload_bytes, target_rps and count of 0 or more and duration_ns above 0")
	}
	return a, nil
}

func parseNs(s string, d *time.Duration) error {
	n, err := strconv.ParseInt(s, 10, 64)
	*d = time.Duration(n)
	return err
}
