package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"msgbench/pinning"
	"msgbench/results"
)

// envelope is what every message of a worker starts with, in bytes.
const envelope = 32

// msgbenchSide measures cells with msgbench.
type msgbenchSide struct {
	exe, dir string
	window   time.Duration
	runs     int
}

// oneWay is half the mean of a round trip in ns, of one sample.
func (m *msgbenchSide) oneWay(ctx context.Context, c results.Cell) (float64, error) {
	m.runs++
	out := filepath.Join(m.dir, fmt.Sprint("run", m.runs))
	defer os.RemoveAll(out)
	suite := filepath.Join(m.dir, "suite.yaml")
	text := fmt.Sprintf("name: truth\ncells:\n  - {scenario: %s, transport: [%s], client: [%s], server: [%s], payload: [%d]", c.Scenario,
		c.Transport, c.Client, c.Server, c.Payload)
	for k, v := range c.Dims {
		text += fmt.Sprintf(", %s: [%s]", k, v)
	}
	if err := os.WriteFile(suite, []byte(text+"}\n"), 0o600); err != nil {
		return 0, err
	}
	// Exit code 4 says that one sample makes no publishable row.
	output, err := exec.CommandContext(ctx, m.exe, "run", suite, "--samples", "1", "--reruns", "0", "--max-ramp", "1000",
		"--max-duration", m.window.String(), "--out", out, "-q").CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 4) {
		return 0, fmt.Errorf("%w: %s", err, output)
	}
	samples, _, err := results.ReadJournal(filepath.Join(out, results.JournalFile))
	if err != nil {
		return 0, err
	}
	for _, s := range samples {
		if s.Cell == c.Key() && s.Outcome == results.OK {
			return float64(s.Measurement.WindowNs) / float64(s.Measurement.Messages) / 2, nil
		}
	}
	return 0, fmt.Errorf("no sample of %s: %s", c.Key(), output)
}

// library is one of the libraries with latency programs of their own.
type library struct {
	name, peer, wire string
	cell             results.Cell // that measures what those programs do
}

// zmq's programs are REQ and REP as ping-pong is; the others' are PAIR at both ends as a pipeline is, here with one in flight.
var libraries = []library{
	{"zmq", "libzmq", "zmq", results.Cell{Scenario: "ping-pong", Client: "libzmq", Server: "libzmq"}},
	{"nng", "libnng", "nng", results.Cell{Scenario: "pipeline", Client: "libnng", Server: "libnng", Dims: map[string]string{"depth": "1"}}},
	{"nanomsg", "libnanomsg", "nng", results.Cell{Scenario: "pipeline", Client: "libnanomsg", Server: "libnanomsg", Dims: map[string]string{"depth": "1"}}},
}

// program is a latency program: its two sides, as commands to which address, size and count are appended.
type program struct {
	title         string
	local, remote []string
	dir           string
	window        time.Duration
	spawner       *pinning.Spawner
	expected      map[string]float64 // ns of one way, by scheme and size, of the last run
}

func newProgram(l library, paths, lat, dir string, window time.Duration) (*program, error) {
	p := &program{title: "a plain C ping-pong on " + l.peer, dir: dir, window: window, spawner: pinning.NewSpawner(), expected: map[string]float64{}}
	standIn := filepath.Join(lat, "lat_"+l.name)
	p.local, p.remote = []string{standIn, "local"}, []string{standIn, "remote"}
	if paths != "" {
		local, remote, ok := strings.Cut(paths, ",")
		if !ok {
			return nil, fmt.Errorf("--%s %s: want LOCAL,REMOTE", l.name, paths)
		}
		p.title, p.local, p.remote = l.peer+"'s "+filepath.Base(remote), []string{local}, []string{remote}
	}
	if _, err := exec.LookPath(p.remote[0]); err != nil {
		return nil, fmt.Errorf("--%s: %w", l.name, err)
	}
	return p, nil
}

func (p *program) close() { p.spawner.Close() }

// oneWay runs the program with messages of size bytes for about the window; ns of one way.
func (p *program) oneWay(ctx context.Context, scheme string, size int) (float64, error) {
	kind := fmt.Sprint(scheme, size)
	if p.expected[kind] == 0 { // connecting is in its window, too: the first, short run is for the count only
		ns, err := p.once(ctx, scheme, size, 2000)
		if err != nil {
			return 0, err
		}
		p.expected[kind] = ns
	}
	count := max(int(float64(p.window)/(2*p.expected[kind])), 1000)
	ns, err := p.once(ctx, scheme, size, count)
	if err == nil {
		p.expected[kind] = ns
	}
	return ns, err
}

var average = regexp.MustCompile(`average latency: ([0-9.]+) \[us\]`)

func (p *program) once(ctx context.Context, scheme string, size, count int) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	address := "ipc://" + tempName(p.dir, "s")
	if scheme == "tcp" {
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			return 0, err
		}
		address = "tcp://" + l.Addr().String()
		if err := l.Close(); err != nil {
			return 0, err
		}
	}
	args := []string{address, strconv.Itoa(size), strconv.Itoa(count)}
	start := func(command []string, cpu int) (*exec.Cmd, *bytes.Buffer, error) {
		cmd := exec.CommandContext(ctx, command[0], append(append([]string{}, command[1:]...), args...)...)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		return cmd, &out, p.spawner.Start(cmd, pinning.Options{CPUs: []int{cpu}, KillWithParent: true})
	}
	server, serverOut, err := start(p.local, 1)
	if err != nil {
		return 0, err
	}
	var out *bytes.Buffer
	err = listens(ctx, address)
	if err == nil {
		var client *exec.Cmd
		if client, out, err = start(p.remote, 0); err == nil {
			err = client.Wait()
		}
	}
	if err != nil {
		cancel()
		_ = server.Wait() // was killed
		return 0, fmt.Errorf("%s: %w: %v%v", strings.Join(p.remote, " "), err, out, serverOut)
	}
	if err := server.Wait(); err != nil {
		return 0, fmt.Errorf("%s: %w: %s", strings.Join(p.local, " "), err, serverOut)
	}
	m := average.FindStringSubmatch(out.String())
	if m == nil {
		return 0, fmt.Errorf("%s: no average latency in %q", strings.Join(p.remote, " "), out)
	}
	us, err := strconv.ParseFloat(m[1], 64)
	return us * 1000, err
}

// listens waits until a program listens on an address. It says nothing when it does, and connecting would take the place
// of the other side.
func listens(ctx context.Context, address string) error {
	for {
		if path, ok := strings.CutPrefix(address, "ipc://"); ok {
			if _, err := os.Stat(path); err == nil {
				return nil
			}
		} else {
			_, port, _ := strings.Cut(strings.TrimPrefix(address, "tcp://"), ":")
			n, err := strconv.Atoi(port)
			if err != nil {
				return err
			}
			table, err := os.ReadFile("/proc/net/tcp")
			if err != nil {
				return err
			}
			if strings.Contains(string(table), fmt.Sprintf(" 0100007F:%04X 00000000:0000 0A ", n)) { // 127.0.0.1, LISTEN
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("nobody listens on %s: %w", address, ctx.Err())
		case <-time.After(5 * time.Millisecond):
		}
	}
}
