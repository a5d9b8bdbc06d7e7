package report

import (
	"strings"

	"msgbench/results"
)

// The titles that pages use for transports; others are shown as they are named.
var transportTitles = map[string]string{
	"np": "Named Pipe", "win-shm": "Win SHM", "pipe": "Pipe", "shm": "SHM", "uds": "UDS", "tcp": "TCP",
	"zmq-tcp": "ZeroMQ TCP", "zmq-ipc": "ZeroMQ IPC", "zmq-inproc": "ZeroMQ inproc",
	"nng-tcp": "NNG TCP", "nng-ipc": "NNG IPC", "nng-inproc": "NNG inproc", "broker": "Broker", "areg": "areg-sdk",
}

func transportTitle(transport string) string { return orText(transportTitles[transport], transport) }

// scenarioTitle is the title of a section: a scenario over a transport.
func scenarioTitle(scenario, transport string) string {
	t := transportTitle(transport)
	switch scenario {
	case "ping-pong":
		return t + " Ping-Pong"
	case "batch":
		return t + " Batch Ping-Pong"
	case "snapshot":
		return "Snapshot " + t + " Refresh"
	case "pipeline":
		return t + " Pipeline"
	case "pipeline-batch":
		return t + " Pipeline+Batch"
	case "broadcast":
		return t + " Broadcast"
	case "data-rate":
		return t + " Data Rate"
	case "lookup":
		return "Local Cache Lookup"
	}
	return t + " " + scenario
}

// shortName is what the validation summary calls a scenario over a transport, in the words of netipc's pages: the depth
// is a part of the name there, and a snapshot over anything but shared memory is the baseline.
func shortName(r *results.Row) string {
	t := r.Transport
	if t == "win-shm" {
		t = "shm"
	}
	switch r.Scenario {
	case "lookup":
		return "lookup"
	case "batch":
		return t + "-batch-ping-pong"
	case "snapshot":
		if r.Source == sourceNetipc && t != "shm" {
			t = "baseline"
		}
		return "snapshot-" + t
	case "pipeline", "pipeline-batch":
		if r.Depth != "" && !strings.Contains(r.Depth, ",") {
			return t + "-" + r.Scenario + "-d" + r.Depth
		}
	}
	return t + "-" + r.Scenario
}

// onMachine tells on which machine a row was measured, as an addition to a name, in tables that hold rows of several machines
// side by side; it is empty where all rows are of one.
func onMachine(rows []results.Row) func(*results.Row) string {
	for i := range rows {
		if rows[i].Machine != rows[0].Machine {
			return func(r *results.Row) string { return " on " + orText(r.Machine, "a machine not named") }
		}
	}
	return func(*results.Row) string { return "" }
}
