package shm

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"msgbench/measure"
	"msgbench/transports"
)

// The tests that need real processes start the test binary again: a server and a client, each pinned on a CPU before it
// starts, as the runner of the benchmark does it.

const roleEnv = "MSGBENCH_SHM_ROLE"

// role is what a process of such a test does.
type role struct {
	Endpoint string // empty: server
	Stream   bool   // one way, with one message back at the end; otherwise ping-pong
	Options  transports.Options
	Size     int // bytes of each message, envelope included
	N        int // messages, after N/10 of warm-up
	Pause    time.Duration
}

// outcome is what a role prints.
type outcome struct {
	P50NS     int64
	P99NS     int64
	PerSecond float64
	Naps      uint64 // futex waits of the connection in the window
	Voluntary int64  // voluntary context switches of the I/O thread in the window, from the kernel
}

func TestMain(m *testing.M) {
	if js := os.Getenv(roleEnv); js != "" {
		if err := play(js); err != nil {
			fmt.Fprintln(os.Stderr, "role:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func play(js string) error {
	var r role
	if err := json.Unmarshal([]byte(js), &r); err != nil {
		return err
	}
	go func() { // never outlive the test
		io.Copy(io.Discard, os.Stdin)
		os.Exit(3)
	}()
	runtime.LockOSThread()
	c, err := r.connect()
	if err != nil {
		return err
	}
	defer c.Close()
	var out outcome
	switch {
	case r.Endpoint == "" && r.Stream:
		out, err = r.sink(c)
	case r.Endpoint == "":
		out, err = r.echo(c)
	case r.Stream:
		out, err = r.stream(c)
	default:
		out, err = r.pingPong(c)
	}
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(out)
}

func (r role) connect() (*conn, error) {
	if r.Endpoint != "" {
		c, err := New().Dial(r.Endpoint, r.Options)
		if err != nil {
			return nil, err
		}
		return c.(*conn), nil
	}
	l, err := New().Listen(r.Options)
	if err != nil {
		return nil, err
	}
	fmt.Println(l.Endpoint())
	c, err := l.Accept()
	if err != nil {
		return nil, err
	}
	return c.(*conn), nil
}

// window counts what happens between two points in time.
type window struct {
	c         *conn
	naps      uint64
	voluntary int64
	start     int64
}

func open(c *conn) window {
	return window{c: c, naps: c.naps(), voluntary: voluntary(), start: measure.Now()}
}

func (w window) close(n int) outcome {
	end := measure.Now()
	return outcome{
		PerSecond: float64(n) / (float64(end-w.start) / 1e9),
		Naps:      w.c.naps() - w.naps, Voluntary: voluntary() - w.voluntary,
	}
}

func get(b []byte, at int) uint64    { return binary.NativeEndian.Uint64(b[at:]) }
func put(b []byte, at int, v uint64) { binary.NativeEndian.PutUint64(b[at:], v) }

func voluntary() int64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &u); err != nil {
		panic(err)
	}
	return u.Nvcsw
}

func (r role) pingPong(c *conn) (outcome, error) {
	msg := make([]byte, r.Size)
	ns := make([]int64, r.N)
	var w window
	before := measure.Now()
	for i := -r.N / 10; i < r.N; i++ {
		if i == 0 {
			runtime.GC()
			w = open(c)
			before = measure.Now()
		}
		if r.Pause != 0 {
			time.Sleep(r.Pause)
			before = measure.Now()
		}
		put(msg, 0, uint64(i))
		put(msg, 8, uint64(before))
		put(msg, 32, uint64(i))
		if err := c.Send(msg); err != nil {
			return outcome{}, err
		}
		got, err := c.Recv()
		if err != nil {
			return outcome{}, err
		}
		if len(got) != r.Size || get(got, 0) != uint64(i) || get(got, 32) != uint64(i)+1 {
			return outcome{}, fmt.Errorf("message %d: wrong reply of %d B", i, len(got))
		}
		after := measure.Now()
		if i >= 0 {
			ns[i] = after - before
		}
		before = after
	}
	out := w.close(r.N)
	slices.Sort(ns)
	out.P50NS, out.P99NS = ns[r.N/2], ns[r.N-r.N/100-1]
	return out, nil
}

func (r role) echo(c *conn) (outcome, error) {
	var w window
	for i := -r.N / 10; i < r.N; i++ {
		if i == 0 {
			w = open(c)
		}
		got, err := c.Recv()
		if err != nil {
			return outcome{}, err
		}
		if get(got, 0) != uint64(i) {
			return outcome{}, fmt.Errorf("message %d: sequence %d", i, get(got, 0))
		}
		put(got, 32, get(got, 32)+1)
		if err := c.Send(got); err != nil {
			return outcome{}, err
		}
	}
	return w.close(r.N), nil
}

func (r role) stream(c *conn) (outcome, error) {
	msg := make([]byte, r.Size)
	var w window
	for i := -r.N / 10; i < r.N; i++ {
		if i == 0 {
			w = open(c)
		}
		put(msg, 0, uint64(i))
		if err := c.Send(msg); err != nil {
			return outcome{}, err
		}
	}
	_, err := c.Recv()
	return w.close(r.N), err
}

func (r role) sink(c *conn) (outcome, error) {
	var w window
	for i := -r.N / 10; i < r.N; i++ {
		if i == 0 {
			w = open(c)
		}
		got, err := c.Recv()
		if err != nil {
			return outcome{}, err
		}
		if len(got) != r.Size || get(got, 0) != uint64(i) {
			return outcome{}, fmt.Errorf("message %d: wrong message of %d B", i, len(got))
		}
	}
	return w.close(r.N), c.Send([]byte("done"))
}

// run plays r between a server pinned on CPU scpu and a client pinned on CPU ccpu.
// The client runs under the program that is given, if any.
func (r role) run(t testing.TB, ccpu, scpu int, under ...string) (client, server outcome) {
	t.Helper()
	dir, err := os.MkdirTemp("", "shm")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	r.Options.Dir = dir
	s := start(t, r, scpu)
	r.Endpoint = s.line(t)
	c := start(t, r, ccpu, under...)
	s.result(t, &server)
	c.result(t, &client)
	return client, server
}

type process struct {
	cmd *exec.Cmd
	in  io.Closer
	out *bufio.Reader
}

// start begins a role on a CPU. The affinity is that of a thread of ours, from which the child inherits it; the thread
// ends with its goroutine.
func start(t testing.TB, r role, cpu int, under ...string) *process {
	t.Helper()
	js, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	argv := append(under, os.Args[0])
	p := &process{cmd: exec.Command(argv[0], argv[1:]...)}
	p.cmd.Env = append(os.Environ(), roleEnv+"="+string(js))
	p.cmd.Stderr = os.Stderr
	p.in, _ = p.cmd.StdinPipe()
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.out = bufio.NewReader(out)
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked
		var set unix.CPUSet
		set.Set(cpu)
		if err := unix.SchedSetaffinity(0, &set); err != nil {
			started <- err
			return
		}
		started <- p.cmd.Start()
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.in.Close(); p.cmd.Process.Kill(); p.cmd.Wait() })
	return p
}

func (p *process) line(t testing.TB) string {
	t.Helper()
	line, err := p.out.ReadString('\n')
	if err != nil {
		t.Fatal("process ended early: ", err)
	}
	return strings.TrimSpace(line)
}

func (p *process) result(t testing.TB, o *outcome) {
	t.Helper()
	if err := json.Unmarshal([]byte(p.line(t)), o); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Wait(); err != nil { // what it runs under writes its log at the end
		t.Error(err)
	}
}

// twoCPUs returns two CPUs that this process may use, or skips.
func twoCPUs(t testing.TB) (int, int) {
	t.Helper()
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		t.Fatal(err)
	}
	var cpus []int
	for i := range 1024 {
		if set.IsSet(i) {
			cpus = append(cpus, i)
		}
	}
	if len(cpus) < 2 {
		t.Skip("needs two CPUs")
	}
	return cpus[0], cpus[1]
}
