package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"msgbench/pinning"
	"msgbench/results"
	"msgbench/scenarios"
	"msgbench/transports/all"
)

// hostScript is a command that stands for ssh: a shell script that is given the words of a worker.
func hostScript(t *testing.T, text string) []string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("needs a shell")
	}
	path := filepath.Join(t.TempDir(), "ssh")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	return []string{path}
}

// loopbackHost is this machine as another host.
func loopbackHost(t *testing.T, command ...string) *Host {
	t.Helper()
	if command == nil {
		command = []string{os.Args[0]}
	}
	h, err := ReachHost(context.Background(), "other", command, "127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func twoHostCell(transport string) results.Cell {
	c := testCell(transport, 0)
	if transport == "broker" {
		c.Defaults = map[string]string{"scope": "stack", "handoff": "goroutine"}
	}
	return OnTwoHosts([]results.Cell{c})[0]
}

func TestTwoHosts(t *testing.T) {
	w := testWorkers(t)
	h := loopbackHost(t)
	w.ServeOn(h)
	if !h.Here && runtime.GOOS == "linux" {
		t.Error("this very machine is taken for another one")
	}
	for _, transport := range []string{"tcp", "zmq-tcp", "nng-tcp", "broker"} {
		s, err := w.Sample(context.Background(), twoHostCell(transport))
		if err != nil || s.Outcome == results.Failed {
			t.Fatalf("%s: %s %q %v %v", transport, s.Outcome, s.Reason, s.Stderr, err)
		}
		m := s.Measurement
		roles := []string{results.Client, results.Server}
		if transport == "broker" {
			roles = append(roles, results.Broker)
		}
		if s.Relation != pinning.Remote || s.Cell != twoHostCell(transport).Key() || !strings.HasSuffix(s.Cell, "/hosts=2") {
			t.Errorf("%s: cell %s, relation %q", transport, s.Cell, s.Relation)
		}
		for _, role := range roles {
			if runtime.GOOS == "linux" && (m.CPUNs[role] <= 0 || m.CPUNs[role] > int64(runtime.NumCPU())*m.WindowNs) {
				t.Errorf("%s: CPU of the %s: %d ns in a window of %d", transport, role, m.CPUNs[role], m.WindowNs)
			}
			p := s.Placement[role]
			if want := map[bool]string{true: "", false: "other"}[role == results.Client]; p.Host != want || p.PID == 0 {
				t.Errorf("%s: the %s ran on host %q as process %d", transport, role, p.Host, p.PID)
			}
			if runtime.GOOS == "linux" && (len(p.Asked) == 0 || !reflect.DeepEqual(p.Asked, p.Allowed)) {
				t.Errorf("%s: the %s was to run on CPU %v, and ran on %v", transport, role, p.Asked, p.Allowed)
			}
		}
	}
}

// TestBorrowedCPU holds what a server on another host says of its own CPU time against the clock of its process, which is
// readable here after all: both cover a window of the same requests.
func TestBorrowedCPU(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has the clocks of other processes")
	}
	w := testWorkers(t)
	w.ServeOn(loopbackHost(t))
	w.policy.MaxDuration = results.Duration(500 * time.Millisecond)
	cell := twoHostCell("tcp")
	cell.Dims["wait"] = "spin" // all that it gets of its CPU
	s, err := w.Sample(context.Background(), cell)
	if err != nil || s.Outcome == results.Failed {
		t.Fatal(s.Outcome, s.Reason, err)
	}
	i := s.Interference
	if i == nil {
		t.Fatal("no interference, which is read over both processes")
	}
	// A side that spins has its CPU but for what others took: what is left over of both CPUs can't be more than that.
	got := s.Measurement.CPUNs[results.Client] + s.Measurement.CPUNs[results.Server]
	foreign := float64(i.ForeignNs+i.StealNs+i.StepNs) / float64(i.SpanNs) * float64(s.Measurement.WindowNs)
	if want := 2*float64(s.Measurement.WindowNs) - foreign; float64(got) < 0.8*want {
		t.Errorf("client and server spun for %d ns of a window of %d, others had %.0f", got, s.Measurement.WindowNs, foreign)
	}
}

func TestBorrowCPU(t *testing.T) {
	m := &results.Measurement{WindowNs: 1000, CPUNs: map[string]int64{"client": 7}}
	borrowCPU(m, []*results.Measurement{
		{WindowNs: 2000, CPUNs: map[string]int64{"server": 500, "broker": 30, "client": 99}},
		{CPUNs: map[string]int64{"other": 5}}, // of no window that is known
	})
	if want := map[string]int64{"client": 7, "server": 250, "broker": 15}; !reflect.DeepEqual(m.CPUNs, want) {
		t.Errorf("%v, want %v", m.CPUNs, want)
	}
}

func TestHostFaults(t *testing.T) {
	t.Setenv("SERVER", os.Args[0])
	for _, c := range []struct{ script, reason string }{
		{"echo 'ssh: connect to host other port 22: Connection refused' >&2; exit 255",
			`server on other ended before "ready": exit status 255: ssh: connect to host other port 22: Connection refused`},
		{"exec sleep 60", `server on other hangs: no "ready" within 1s`},
		{`exec 3<&0; trap 'kill -9 $child' EXIT; "$SERVER" "$@" <&3 & child=$!; sleep 2; exit 9`, "server on other ended"}, // the network is cut
		{`exec "$SERVER" "$@" listen=192.0.2.1`, "other: server: listen tcp: tcp: listen tcp4 192.0.2.1:0: bind: cannot assign requested address"},
		{`exec "$SERVER" "$@" cpus=9999`, "other: server: set affinity to CPU 9999"},
	} {
		w := testWorkers(t)
		h := loopbackHost(t)
		h.Command = hostScript(t, c.script)
		w.ServeOn(h)
		w.limits = limits{ready: time.Second, grace: 3 * time.Second, stop: time.Second, leave: leaveTime}
		if strings.Contains(c.script, "sleep 2;") {
			w.policy.MaxDuration = results.Duration(5 * time.Second)
			w.limits.ready = 3 * time.Second
		}
		s, err := w.Sample(context.Background(), twoHostCell("tcp"))
		if err != nil {
			t.Fatal(err)
		}
		if s.Outcome != results.Failed || !strings.Contains(s.Reason, c.reason) || strings.Contains(s.Reason, "\n") {
			t.Errorf("%q: %s: %q, want failed: %q", c.script, s.Outcome, s.Reason, c.reason)
		}
		if runtime.GOOS == "linux" {
			nobody(t, "listen=127.0.0.1", "dir=")
		}
	}
}

// nobody waits until no process has all of these words.
func nobody(t *testing.T, words ...string) {
	t.Helper()
	for deadline := time.Now().Add(3 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		left := ""
		files, err := filepath.Glob("/proc/[0-9]*/cmdline")
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			data, err := os.ReadFile(f)
			line := strings.ReplaceAll(string(data), "\x00", " ")
			all := err == nil && strings.HasPrefix(line, os.Args[0])
			for _, word := range words {
				all = all && strings.Contains(line, " "+word)
			}
			if all {
				left = line
			}
		}
		if left == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("left behind: %s", left)
		}
	}
}

func TestReachHost(t *testing.T) {
	t.Setenv("SERVER", os.Args[0])
	for _, c := range []struct{ name, address, script, want string }{
		{"b", "127.0.0.1", "echo 'ssh: Could not resolve hostname b: Name or service not known' >&2; exit 255",
			"b: --describe: exit status 255: ssh: Could not resolve hostname b: Name or service not known"},
		{"b", "127.0.0.1", "echo 'bash: msgbench: command not found' >&2; exit 127", "b: --describe: exit status 127: bash: msgbench: command not found"},
		{"b", "127.0.0.1", "echo hi", `b: --describe printed "hi" where "hello" was expected`},
		{"b", "127.0.0.1", `echo 'hello 1 {"peer":"go","versions":{"go":"go1.26"}}'`, "b has msgbench none that it tells, this is "},
		{"b", "127.0.0.1", `"$SERVER" "$@" | sed 's/"msgbench":"[^"]*"/"msgbench":"v0.0.1"/'`, "b has msgbench v0.0.1, this is "},
		{"b", "127.0.0.1", `"$SERVER" "$@" | sed 's/"build":"[^"]*"/"build":"123456789abc"/'`, "b has another build of msgbench"},
		{"b", "127.0.0.1", `case "$*" in *describe) exec "$SERVER" "$@";; esac; echo nothing`, `b: --host printed "nothing" where "host" was expected`},
		{"b", "127.0.0.1", "yes", "b: --describe printed 64 KiB or more"},
		{"me@no-such-host.invalid", "", "", `--server-host me@no-such-host.invalid: no IPv4 address of "no-such-host.invalid" is known: say it by --server-address`},
		{"b", "::1", "", `--server-address ::1: no IPv4 address of "::1" is known`},
		{"b", "0.0.0.0", "", "--server-address 0.0.0.0: nobody can dial that"},
	} {
		_, err := ReachHost(context.Background(), c.name, hostScript(t, c.script), c.address)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s %q: error %v, want %q", c.name, c.script, err, c.want)
		}
	}
}

func TestCheckTwoHosts(t *testing.T) {
	cat := Catalog{Scenarios: scenarios.Table, Transports: Transports(all.Table())}
	for _, c := range []struct{ scenario, transport, client, server, want string }{
		{"ping-pong", "tcp", "go", "go", ""},
		{"batch", "zmq-tcp", "go", "go", ""},
		{"pipeline-batch", "nng-tcp", "go", "go", ""},
		{"snapshot", "broker", "go", "go", ""},
		{"data-rate", "tcp", "go", "go", "data-rate measures one way, and the clocks of two hosts are not one"},
		{"broadcast", "broker", "go", "go", "broadcast measures one way"},
		{"lookup", "-", "go", "go", "lookup runs in one process"},
		{"ping-pong", "shm", "go", "go", "shm connects processes of one host only"},
		{"ping-pong", "pipe", "go", "go", "pipe connects"},
		{"ping-pong", "uds", "go", "go", "uds connects"},
		{"ping-pong", "zmq-ipc", "go", "go", "zmq-ipc connects"},
		{"ping-pong", "nng-ipc", "go", "go", "nng-ipc connects"},
		{"ping-pong", "broker-uds", "go", "go", "broker-uds connects"},
		{"ping-pong", "tcp", "c", "go", "the peer c is built on this host only"},
		{"ping-pong", "tcp", "go", "rust", "the peer rust is built on this host only"},
	} {
		cell := results.Cell{Scenario: c.scenario, Transport: c.transport, Client: c.client, Server: c.server}
		err := cat.CheckTwoHosts([]results.Cell{cell})
		if got := fmt.Sprint(err); c.want == "" && err != nil || c.want != "" && !strings.Contains(got, c.want) {
			t.Errorf("%s: %v, want %q", cell.Key(), err, c.want)
		}
	}
}

// TestPlaceOnTwoHosts has a laptop of 4 CPUs as client and a server of 8 as host.
func TestPlaceOnTwoHosts(t *testing.T) {
	cpus := func(n int) pinning.Topology {
		top := pinning.Topology{CanPin: true}
		for i := range n {
			top.CPUs = append(top.CPUs, pinning.CPU{ID: i, Siblings: []int{i}})
			top.Allowed = append(top.Allowed, i)
		}
		return top
	}
	here, host := cpus(4), &Host{Topology: cpus(8)}
	host.Name = "b"
	for _, c := range []struct{ pin, transport, want, err string }{
		{"", "tcp", "map[client:[0] server:[0]]", ""},
		{"none", "tcp", "map[client:[] server:[]]", ""},
		{"client=3,server=7", "tcp", "map[client:[3] server:[7]]", ""},
		{"client=3,server=7,broker=6", "broker", "map[broker:[6] client:[3] server:[7]]", ""},
		{"client=7,server=7", "tcp", "", "CPU 7 is not allowed here (allowed: 0-3)"},
		{"client=3,server=8", "tcp", "", "b: --pin server=8: CPU 8 is not allowed here (allowed: 0-7)"},
		{"same-core", "tcp", "", "--pin same-core: two hosts share no core"},
		{"siblings", "tcp", "", "--pin siblings: two hosts share no core"},
	} {
		plan, err := pinning.Parse(c.pin)
		if err != nil {
			t.Fatal(err)
		}
		got, err := PlaceOn(plan, here, host, twoHostCell(c.transport))
		if c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) || c.err == "" && fmt.Sprint(got) != c.want {
			t.Errorf("%q: %v, error %v; want %s, %q", c.pin, got, err, c.want, c.err)
		}
	}
}
