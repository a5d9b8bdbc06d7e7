package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"

	"msgbench/bench/protocol"
	"msgbench/machine"
	"msgbench/pinning"
	"msgbench/results"
	"msgbench/transports"
)

// Host is another machine, on which the processes that listen run: the server, and the router of a brokered cell.
type Host struct {
	results.ServerHost
	CPU      string // model
	Topology pinning.Topology
	Here     bool // runs under the very kernel of the runner: another network namespace, or a test
}

// reachTime bounds how long starting msgbench on another host and its answer may take.
const reachTime = 30 * time.Second

// ReachHost asks the msgbench on another host who it is. name is for people and, where address is empty, what its address is
// looked up by; command are the words that start msgbench there, which the words of a worker follow. The error is one line:
// the host does not answer, or has another version.
func ReachHost(ctx context.Context, name string, command []string, address string) (*Host, error) {
	h := &Host{ServerHost: results.ServerHost{Name: name, Command: command}}
	var err error
	if h.Address, err = hostAddress(ctx, name, address); err != nil {
		return nil, err
	}
	said, err := ask(ctx, h.words("--describe"), reachTime)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	_, there, err := parseHello(said)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	build, err := machine.Build()
	if err != nil {
		return nil, err
	}
	if v := there.Versions["msgbench"]; v != machine.Version() {
		return nil, fmt.Errorf("%s has msgbench %s, this is %s: want one version on both hosts", name, orNone(v), machine.Version())
	}
	if b := there.Versions["build"]; b != build {
		return nil, fmt.Errorf("%s has another build of msgbench %s (%s, this is %s): copy this program there", name, machine.Version(), orNone(b), orNone(build))
	}
	if said, err = ask(ctx, h.words("--host"), reachTime); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	rest, ok := bytes.CutPrefix(said, []byte(protocol.Host+" "))
	var info protocol.HostInfo
	if err := json.Unmarshal(rest, &info); !ok || err != nil {
		return nil, fmt.Errorf("%s: --host printed %q where %q was expected", name, shorten(string(said), 60), protocol.Host)
	}
	h.Machine, h.Boot, h.Installation = info.Machine, info.Boot, info.Installation
	h.Kernel, h.CPU, h.Topology = info.Kernel, info.CPU, info.Topology
	h.Here = h.Boot != "" && h.Boot == machine.Boot()
	return h, nil
}

// words are the command line of a worker there.
func (h *Host) words(more ...string) []string {
	return append(append(slices.Clone(h.Command), "worker"), more...)
}

// hostAddress is where the server listens and is dialled.
func hostAddress(ctx context.Context, name, address string) (string, error) {
	flag, from := "--server-address "+address, address
	if address == "" {
		from = name[strings.LastIndexByte(name, '@')+1:] // as ssh has it: user@host
		flag = "--server-host " + name
	}
	ips, err := net.DefaultResolver.LookupIP(ctx, "ip4", from)
	if err != nil || len(ips) == 0 {
		return "", fmt.Errorf("%s: no IPv4 address of %q is known: say it by --server-address", flag, from)
	}
	if ips[0].IsUnspecified() {
		return "", fmt.Errorf("%s: nobody can dial that: want the address at which this host reaches the other", flag)
	}
	return ips[0].String(), nil
}

// ask runs a program that prints one line and ends, and returns the line.
func ask(ctx context.Context, words []string, within time.Duration) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	what := words[len(words)-1]
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.WaitDelay = time.Second
	var stderr tail
	cmd.Stderr = &stderr
	said := limited{left: describeSize, over: cancel}
	cmd.Stdout = &said
	err := cmd.Run()
	switch {
	case said.left <= 0:
		return nil, fmt.Errorf("%s printed %d KiB or more", what, describeSize>>10)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, fmt.Errorf("%s did not end within %s", what, within)
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, fmt.Errorf("%s: %w%s", what, err, stderr.because())
	}
	first, _, _ := bytes.Cut(said.buf.Bytes(), []byte("\n"))
	return first, nil
}

// limited is a writer that takes so many bytes, and calls over when there are more.
type limited struct {
	buf  bytes.Buffer
	left int
	over func()
}

func (l *limited) Write(b []byte) (int, error) {
	n := min(len(b), max(l.left, 0))
	l.buf.Write(b[:n])
	if l.left -= len(b); l.left <= 0 {
		l.over() // it may print for ever
	}
	return len(b), nil
}

func orNone(s string) string {
	if s == "" {
		return "none that it tells"
	}
	return s
}

// hostsDim is the dimension of cells whose two sides are on two hosts: they are never taken for those on one.
const hostsDim = "hosts"

// OnTwoHosts gives cells the dimension of those between this host and another.
func OnTwoHosts(cells []results.Cell) []results.Cell {
	out := slices.Clone(cells)
	for i := range out {
		dims := maps.Clone(out[i].Dims)
		if dims == nil {
			dims = map[string]string{}
		}
		dims[hostsDim] = "2"
		out[i].Dims = dims
	}
	return out
}

// CheckTwoHosts says of the first cell that can't be between two hosts: which, and why.
func (c Catalog) CheckTwoHosts(cells []results.Cell) error {
	for _, cell := range cells {
		if why := c.onOneHost(cell); why != "" {
			return fmt.Errorf("%s: %s", cell.Key(), why)
		}
	}
	return nil
}

// onOneHost is why a cell can't be between two hosts; empty where it can.
func (c Catalog) onOneHost(cell results.Cell) string {
	for _, s := range c.Scenarios {
		switch {
		case s.Name != cell.Scenario:
		case s.NoTransport:
			return s.Name + " runs in one process"
		case s.Pattern == transports.Stream:
			return s.Name + " measures one way, and the clocks of two hosts are not one"
		}
	}
	for _, t := range c.Transports {
		if info := t.Info(); info.Name == cell.Transport && !info.Network {
			return info.Name + " connects processes of one host only"
		}
	}
	for _, p := range []string{cell.Client, cell.Server} {
		if p != BuiltIn {
			return fmt.Sprintf("the peer %s is built on this host only: two hosts have %s", p, BuiltIn)
		}
	}
	return ""
}

// harmless is what passes through any shell as it is, after a key and "=": ssh hands its words to one.
var harmless = regexp.MustCompile(`^[A-Za-z0-9_=.,:/@%+#-]*$`)

// command is the command line of a worker on the host.
func (h *Host) command(args protocol.Args) ([]string, error) {
	words := args.Words()
	for _, w := range words {
		if !harmless.MatchString(w) {
			return nil, fmt.Errorf("%q can't go through a shell on %s as it is", w, h.Name)
		}
	}
	return h.words(words...), nil
}

// lifetime is how long a worker there may take before it has to think that it was forgotten.
func (w *Workers) lifetime(a protocol.Args) time.Duration {
	window := a.Duration
	if a.Count > 0 {
		window = MaxCounted
	}
	return 2*w.limits.ready + a.WarmupMax + window + 4*w.limits.grace + w.limits.stop
}

// borrowCPU adds the CPU time of processes on another host, as those have read it there: in a window as long as that of the
// driver to within a message or two, and brought to its very length.
func borrowCPU(m *results.Measurement, others []*results.Measurement) {
	for _, o := range others {
		if o.WindowNs <= 0 || m.WindowNs <= 0 {
			continue
		}
		for role, ns := range o.CPUNs {
			if _, own := m.CPUNs[role]; own {
				continue
			}
			if m.CPUNs == nil {
				m.CPUNs = map[string]int64{}
			}
			m.CPUNs[role] = int64(float64(ns) * float64(m.WindowNs) / float64(o.WindowNs))
		}
	}
}
