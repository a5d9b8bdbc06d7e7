package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"msgbench/bench/protocol"
	"msgbench/peers"
	"msgbench/pinning"
	"msgbench/results"
)

// needPeers makes a peer that can't be built a failure; without it the tests of that peer are skipped.
const needPeers = "MSGBENCH_NEED_PEERS"

// long skips a test that takes minutes, unless all is to be tested: `go test ./...` alone stays short.
func long(t *testing.T) {
	t.Helper()
	if os.Getenv(needPeers) == "" {
		t.Skip("takes minutes: scripts/test sets " + needPeers)
	}
}

// allSizes tells that every pair of peers is tried at every size: scripts/test --long sets it. Else each has a small and a large one.
const allSizes = "MSGBENCH_ALL_SIZES"

// forTransports is a suite's text for these transports, with the sizes of interop tests.
func forTransports(suite, transports string) string {
	sizes, more := "[1, 65536]", "4096"
	if os.Getenv(allSizes) != "" {
		sizes = "[0, 1, 4096, 65536, 1MiB]"
		more = sizes
	}
	return strings.NewReplacer("TRANSPORTS", transports, "SIZES", sizes, "SIZE", more).Replace(suite)
}

// lack skips a test, or fails it where all is to be there.
func lack(t *testing.T, reason string) {
	t.Helper()
	if os.Getenv(needPeers) != "" {
		t.Fatal(reason)
	}
	t.Skip(reason)
}

// builtPeers adds the peers in other languages to the workers, built as o says, and skips the test if one can't be.
func builtPeers(t *testing.T, w *Workers, o peers.Options, names ...string) {
	t.Helper()
	for _, name := range names {
		p, ok := peers.Find(name)
		if !ok {
			t.Fatalf("no peer %s", name)
		}
		r := peers.Build(context.Background(), p, o)
		switch r.State {
		case peers.Missing:
			lack(t, r.Reason)
		case peers.Failed:
			t.Fatalf("%s\n%s", r.Reason, r.Output)
		}
		described, err := DescribePeer(context.Background(), r.Path)
		if err != nil {
			t.Fatal(err)
		}
		// The table says the same of it, so that nothing need be built to see what there is.
		if !slices.Equal(described.Transports, p.Transports) || !slices.Equal(described.Scenarios, p.Scenarios) || described.FixedPort == p.Port0 {
			t.Errorf("peer %s says %+v, the table %+v", name, described, p)
		}
		w.peers[name] = described
	}
}

// peerCells are the cells of a suite of which at least one side is not Go; %s in it is the list of these peers.
func peerCells(t *testing.T, suite string, names []string) []results.Cell {
	t.Helper()
	s, err := ParseSuite("s", []byte(strings.ReplaceAll(suite, "%s", "[go, "+strings.Join(names, ", ")+"]")), testCatalog())
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(s.Cells, func(c results.Cell) bool { return c.Client == "go" && c.Server == "go" })
}

// quickWorkers take samples of few operations, whose figures nobody looks at.
func quickWorkers(t *testing.T, ops int64) *Workers {
	w := testWorkers(t)
	w.policy.WarmupOps, w.policy.Warmup, w.policy.Count = 5, 0, ops
	w.policy.MaxRamp = 1000
	return w
}

// everyPair is each size that takes another way through the code, and each scenario, between all that share a wire.
const everyPair = `name: s
cells:
  - {scenario: ping-pong, transport: TRANSPORTS, client: %s, server: %s, payload: SIZES}
  - {scenario: ping-pong, transport: TRANSPORTS, client: %s, server: %s, rate: 5000, payload: 0}
  - {scenario: pipeline, transport: TRANSPORTS, client: %s, server: %s, payload: [8, 20000]}
  - {scenario: pipeline, transport: TRANSPORTS, client: %s, server: %s, mode: window, depth: 100}
  - {scenario: [batch, pipeline-batch, snapshot], transport: TRANSPORTS, client: %s, server: %s}
`

// everyOneWay is the same for the scenarios in which one side sends and the other receives.
const everyOneWay = `name: s
cells:
  - {scenario: data-rate, transport: TRANSPORTS, client: %s, server: %s, payload: SIZE}
  - {scenario: data-rate, transport: TRANSPORTS, client: %s, server: %s, channels: 3, rate: 3000}
  - {scenario: broadcast, transport: TRANSPORTS, client: %s, server: %s, mode: flood, payload: SIZE}
  - {scenario: broadcast, transport: TRANSPORTS, client: %s, server: %s, mode: pull, payload: 0}
  - {scenario: broadcast, transport: TRANSPORTS, client: %s, server: %s, subscribers: 3, rate: 3000, payload: 1}
`

func TestPeersOneWay(t *testing.T) {
	long(t)
	for _, c := range []struct {
		transports, tcp string
		names           []string
	}{
		{"[pipe, shm, uds, tcp]", "tcp", []string{"c"}},
		{"[zmq-tcp, zmq-ipc]", "zmq-tcp", []string{"libzmq"}},
		{"[nng-tcp, nng-ipc]", "nng-tcp", []string{"libnng", "libnanomsg"}},
	} {
		t.Run(strings.Join(c.names, " "), func(t *testing.T) {
			w := quickWorkers(t, 50)
			builtPeers(t, w, peers.Options{}, c.names...)
			suite := forTransports(everyOneWay, c.transports)
			if c.names[0] != "libzmq" { // which can't do without TCP_NODELAY
				suite += "  - {scenario: [data-rate, broadcast], transport: " + c.tcp + ", client: %s, server: %s, nodelay: off}\n"
			}
			sampleAll(t, w, peerCells(t, suite, c.names))
		})
	}
}

// Both sides of a schedule know how many messages are due, also where duration × rate is not exact in floating point: 0.29 s ×
// 100/s is 28.999… there.
func TestPeersCountWhatIsDue(t *testing.T) {
	w := testWorkers(t)
	w.policy.Duration = results.Duration(290 * time.Millisecond)
	builtPeers(t, w, peers.Options{}, "c")
	suite := "name: s\ncells:\n  - {scenario: data-rate, transport: uds, client: %s, server: %s, rate: 100}\n"
	for _, c := range peerCells(t, suite, []string{"c"}) {
		s, err := w.Sample(t.Context(), c)
		if err != nil || s.Outcome == results.Failed {
			t.Errorf("%s: %s: %v", c.Key(), s.Reason, err)
		}
	}
}

func TestPeers(t *testing.T) {
	long(t)
	for _, c := range []struct {
		transports string
		names      []string
		more       string
	}{
		{"[pipe, shm, uds, tcp]", []string{"c", "rust"}, `
  - {scenario: lookup, client: %s, server: %s}
  - {scenario: ping-pong, transport: shm, client: %s, server: %s, wait: [block, spin], payload: [8, 4096]}
  - {scenario: ping-pong, transport: [pipe, uds, tcp], client: %s, server: %s, wait: [spin, hybrid], payload: [8, 1MiB]}
  - {scenario: ping-pong, transport: tcp, client: %s, server: %s, nodelay: off}
  - {scenario: pipeline-batch, transport: [pipe, uds], client: %s, server: %s, buffer: 1}
`},
		{"[zmq-tcp, zmq-ipc]", []string{"libzmq"}, ""},
		{"[nng-tcp, nng-ipc]", []string{"libnng", "libnanomsg"}, `
  - {scenario: ping-pong, transport: nng-tcp, client: %s, server: %s, nodelay: off}
`},
	} {
		t.Run(strings.Join(c.names, " "), func(t *testing.T) {
			w := quickWorkers(t, 50)
			builtPeers(t, w, peers.Options{}, c.names...)
			sampleAll(t, w, peerCells(t, forTransports(everyPair, c.transports)+c.more, c.names))
		})
	}
}

// TestSanitizedPeers runs every scenario over every transport with the C peers built to abort on the first fault, leaks at the
// end included.
func TestSanitizedPeers(t *testing.T) {
	long(t)
	const suite = `name: s
cells:
  - {scenario: ping-pong, transport: TRANSPORTS, client: %s, server: %s, payload: [0, 8, 200000], rate: [max, 2000]}
  - {scenario: pipeline, transport: TRANSPORTS, client: %s, server: %s, mode: [cycle, window]}
  - {scenario: [batch, pipeline-batch, snapshot], transport: TRANSPORTS, client: %s, server: %s}
  - {scenario: data-rate, transport: TRANSPORTS, client: %s, server: %s, payload: [0, 200000], channels: [1, 3]}
  - {scenario: broadcast, transport: TRANSPORTS, client: %s, server: %s, mode: [flood, pull], subscribers: 2}
  - {scenario: [data-rate, broadcast], transport: TRANSPORTS, client: %s, server: %s, rate: 2000}
`
	for name, transports := range map[string]string{
		"c": "[pipe, shm, uds, tcp]", "libzmq": "[zmq-tcp, zmq-ipc]", "libnng": "[nng-tcp, nng-ipc]", "libnanomsg": "[nng-tcp, nng-ipc]",
	} {
		t.Run(name, func(t *testing.T) {
			w := quickWorkers(t, 30)
			builtPeers(t, w, peers.Options{Sanitize: true}, name)
			sampleAll(t, w, peerCells(t, strings.ReplaceAll(suite, "TRANSPORTS", transports), []string{name}))
		})
	}
}

// TestUnpluggedPeersLeave ends the standard input of workers that wait for their peer: they remove what they made and end
// within 500 ms.
func TestUnpluggedPeersLeave(t *testing.T) {
	for _, p := range peers.Table {
		for _, transport := range p.Transports {
			t.Run(p.Name+" "+transport, func(t *testing.T) {
				w := quickWorkers(t, 1)
				builtPeers(t, w, peers.Options{}, p.Name)
				dir := t.TempDir()
				ports, err := reservePorts(1)
				if err != nil {
					t.Fatal(err)
				}
				args := protocol.Args{Role: "server", Scenario: "ping-pong", Transport: transport, Payload: 8,
					Duration: time.Second, WarmupMax: time.Second, Dir: dir, Ports: ports}
				proc, err := w.start(args, w.peers[p.Name].Path, "server", nil, pinning.Options{})
				if err != nil {
					t.Fatal(err)
				}
				if err := proc.expect(context.Background(), "ready", nil, 5*time.Second); err != nil {
					t.Fatal(err)
				}
				proc.end(500 * time.Millisecond)
				if got := proc.exitReason(); got != "exit status 3" {
					t.Errorf("ended with %s, want exit status 3 within 500 ms", got)
				}
				if left, _ := os.ReadDir(dir); len(left) > 0 {
					t.Errorf("left %s in the folder of its endpoints", left[0].Name())
				}
			})
		}
	}
}

// TestDyingPeers kills a worker in C or Rust in the window: the sample fails with that reason, and soon.
func TestDyingPeers(t *testing.T) {
	for _, p := range peers.Table {
		for _, role := range []string{"client", "server"} {
			t.Run(p.Name+" "+role, func(t *testing.T) {
				w := testWorkers(t)
				builtPeers(t, w, peers.Options{}, p.Name)
				w.policy.MaxDuration = results.Duration(5 * time.Second)
				good := w.peers[p.Name]
				dying := good
				dying.Path = script(t, fmt.Sprintf(`exec 3<&0 # the shell gives what runs in the background an empty standard input
case "$*" in
*role=%s*) %q "$@" <&3 & p=$!; sleep 0.5; kill -9 $p; wait $p; exit 9;;
*) exec %q "$@";;
esac`, role, good.Path, good.Path))
				w.peers["dying"] = dying
				begun := time.Now()
				s, err := w.Sample(context.Background(), results.Cell{Scenario: "ping-pong", Transport: p.Transports[0],
					Client: "dying", Server: "dying", Payload: 64})
				if err != nil {
					t.Fatal(err)
				}
				if s.Outcome != results.Failed || !strings.Contains(s.Reason, role+" ended") {
					t.Errorf("%s: %q, want failed: %s ended", s.Outcome, s.Reason, role)
				}
				if d := time.Since(begun); d > 4*time.Second {
					t.Errorf("noticed after %s", d)
				}
			})
		}
	}
}

// TestMemcheck runs the C worker under valgrind.
func TestMemcheck(t *testing.T) {
	long(t)
	valgrind := "/usr/bin/valgrind"
	if _, err := os.Stat(valgrind); err != nil || runtime.GOOS != "linux" {
		lack(t, "valgrind is not there (Debian package valgrind)")
	}
	w := quickWorkers(t, 20)
	w.limits.ready = 20 * time.Second
	w.limits.grace = 20 * time.Second
	w.limits.stop = 20 * time.Second
	builtPeers(t, w, peers.Options{}, "c")
	p := w.peers["c"]
	p.Path = script(t, fmt.Sprintf("exec %s -q --error-exitcode=9 --leak-check=full %q \"$@\"", valgrind, p.Path))
	w.peers["c"] = p
	sampleAll(t, w, peerCells(t, `name: s
cells:
  - {scenario: pipeline-batch, transport: [pipe, shm, uds, tcp], client: c, server: c}
  - {scenario: ping-pong, transport: [pipe, shm, uds, tcp], client: c, server: c, payload: 100000}
  - {scenario: snapshot, transport: tcp, client: c, server: c}
  - {scenario: lookup, client: c, server: c}
  - {scenario: data-rate, transport: [shm, tcp], client: c, server: c, channels: 2}
  - {scenario: [data-rate, broadcast], transport: [pipe, uds], client: c, server: c, rate: 1000}
`, []string{"c"}))
}

// TestPython plugs in the example of docs/worker-protocol.md.
func TestPython(t *testing.T) {
	path, err := filepath.Abs("../testdata/peer.py")
	if err != nil {
		t.Fatal(err)
	}
	p, err := DescribePeer(context.Background(), path)
	if err != nil {
		lack(t, fmt.Sprintf("python3 does not run the example: %v (Debian package python3)", err))
	}
	data, err := os.ReadFile(path)
	if err != nil || strings.Count(string(data), "\n") >= 100 {
		t.Errorf("the example has 100 lines or more (%v)", err)
	}
	w := quickWorkers(t, 100)
	w.peers["py"] = p
	for _, payload := range []int{0, 1, 8, 4096, 1 << 20} {
		c := testCell("tcp", 0)
		c.Server, c.Payload = "py", payload
		sampleAll(t, w, []results.Cell{c})
	}
}

// TestPortTaken has a server say that its port is taken, twice; then it gets another one.
func TestPortTaken(t *testing.T) {
	w := quickWorkers(t, 20)
	count := filepath.Join(t.TempDir(), "count")
	exe := w.peers["go"].Path
	w.peers["picky"] = Peer{FixedPort: true, Path: script(t, fmt.Sprintf(`case "$*" in
*role=server*port=*)
	echo x >>%[1]q
	if [ $(wc -l <%[1]q) -lt 3 ]; then echo 'error {"reason":"port is taken","port_taken":true}'; exit 1; fi;;
esac
exec %[2]q "$@"`, count, exe))}
	c := testCell("tcp", 0)
	c.Server = "picky"
	sampleAll(t, w, []results.Cell{c})
	os.WriteFile(count, nil, 0o600)
	w.peers["picky"] = Peer{FixedPort: true, Path: script(t, `echo 'error {"reason":"port is taken","port_taken":true}'; exit 1`)}
	s, err := w.Sample(context.Background(), c)
	if err != nil || s.Outcome != results.Failed || !strings.Contains(s.Reason, "the port is taken") {
		t.Errorf("%s %q %v, want failed: the port is taken", s.Outcome, s.Reason, err)
	}
}

func TestDescribePeerFaults(t *testing.T) {
	notExecutable := filepath.Join(t.TempDir(), "peer")
	if err := os.WriteFile(notExecutable, []byte("#!/bin/sh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ path, want string }{
		{script(t, `echo 'hello 2 {"peer":"x"}'`), `speaks version "2" of the protocol, this msgbench version 1`},
		{script(t, `echo 'hello'`), `speaks version ""`},
		{script(t, `echo 'hello 1 {nonsense'`), "--describe: invalid character"},
		{script(t, `echo lorem ipsum`), `--describe printed "lorem ipsum" where "hello" was expected`},
		{script(t, `exit 3`), "--describe: exit status 3"},
		{script(t, `exec cat /dev/zero`), "--describe printed 64 KiB or more"},
		{script(t, `exec sleep 60`), "--describe did not end within"},
		{notExecutable, "permission denied"},
		{filepath.Join(t.TempDir(), "none"), "no such file"},
	} {
		if _, err := DescribePeer(context.Background(), c.path); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

// A program that can't be started any more when its turn comes fails the sample.
func TestPeerThatIsNotExecutable(t *testing.T) {
	w := quickWorkers(t, 10)
	path := script(t, "exit 0")
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	w.peers["locked"] = Peer{Path: path}
	for _, role := range []string{"client", "server"} {
		c := testCell("tcp", 0)
		if role == "client" {
			c.Client = "locked"
		} else {
			c.Server = "locked"
		}
		s, err := w.Sample(context.Background(), c)
		if err != nil || s.Outcome != results.Failed || !strings.Contains(s.Reason, "start "+role) || !strings.Contains(s.Reason, "permission denied") {
			t.Errorf("%s: %s %q %v", role, s.Outcome, s.Reason, err)
		}
	}
}

// script is a program that the shell runs.
func script(t *testing.T, text string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("shell scripts are programs on Unix only")
	}
	path := filepath.Join(t.TempDir(), "peer")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}
