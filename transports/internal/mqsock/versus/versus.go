// Package versus measures what an adapter adds to its library: ping-pong through the adapter against ping-pong in a bare
// program on the same sockets, in two processes of their own, pinned to CPU 0 and 1, in turns. It is used by tests only.
package versus

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Side is one end of a connection that alternates requests and replies.
type Side struct {
	Send func([]byte) error
	Recv func() ([]byte, error)
}

// Program is one way to make a connection.
type Program struct {
	Listen func(dir string) (endpoint string, accept func() (Side, error), err error)
	Dial   func(endpoint string) (Side, error)
}

const (
	childEnv = "MSGBENCH_VERSUS" // program, role, endpoint or folder, message bytes, operations
	warmUp   = 2000              // operations before the stopwatch
)

// run compares the programs "adapter" and "bare" with messages of so many bytes, ops operations each time, and logs the
// median over the rounds of adapter/bare throughput, and of bare/adapter CPU time of both processes, start and end
// included, which a busy machine disturbs less. It only runs where MSGBENCH_VERSUS_ROUNDS says how many rounds.
func run(t *testing.T, programs map[string]Program, size, ops int) {
	if task := os.Getenv(childEnv); task != "" {
		f := strings.Fields(task)
		size, _ := strconv.Atoi(f[3])
		n, _ := strconv.Atoi(f[4])
		if err := child(programs[f[0]], f[1], f[2], size, n); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	rounds, _ := strconv.Atoi(os.Getenv("MSGBENCH_VERSUS_ROUNDS"))
	if rounds == 0 {
		t.Skip("set MSGBENCH_VERSUS_ROUNDS to measure")
	}
	var ratios, cpuRatios []float64
	took := map[string][]float64{}
	for r := range rounds {
		order := []string{"adapter", "bare"}
		if r%2 == 1 {
			slices.Reverse(order)
		}
		ns, cpu := map[string]float64{}, map[string]float64{}
		for _, name := range order {
			ns[name], cpu[name] = sample(t, name, size, ops)
			took[name] = append(took[name], ns[name])
		}
		ratios = append(ratios, ns["bare"]/ns["adapter"])
		cpuRatios = append(cpuRatios, cpu["bare"]/cpu["adapter"])
	}
	slices.Sort(ratios)
	_, what, _ := strings.Cut(t.Name(), "/")
	t.Logf("%s: %d B: adapter %.2f µs, bare %.2f µs, throughput ratio %.3f (%.3f to %.3f in %d rounds), CPU time ratio %.3f",
		what, size, median(took["adapter"])/1e3, median(took["bare"])/1e3, median(ratios), ratios[0], ratios[rounds-1], rounds, median(cpuRatios))
}

func median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return (x[len(x)/2] + x[(len(x)-1)/2]) / 2
}

// sample runs one program in two processes. It returns nanoseconds per operation, of time and of CPU.
func sample(t *testing.T, name string, size, ops int) (ns, cpu float64) {
	t.Helper()
	dir, err := os.MkdirTemp("", "vs")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	start := func(cpu, role, where string) (*exec.Cmd, io.Reader) {
		cmd := exec.Command("taskset", "-c", cpu, os.Args[0], "-test.run=^"+t.Name()+"$", "-test.count=1")
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %s %s %d %d", childEnv, name, role, where, size, ops))
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd, out
	}
	server, out := start("1", "server", dir)
	defer server.Wait()
	defer server.Process.Kill()
	var endpoint string
	if _, err := fmt.Fscanln(out, &endpoint); err != nil {
		t.Fatal(err)
	}
	client, out := start("0", "client", endpoint)
	defer client.Wait()
	if _, err := fmt.Fscanln(out, &ns); err != nil {
		t.Fatalf("%s: no result: %v", name, err)
	}
	client.Wait()
	server.Process.Kill()
	server.Wait()
	for _, p := range []*exec.Cmd{client, server} {
		cpu += float64(p.ProcessState.UserTime()+p.ProcessState.SystemTime()) / float64(warmUp+ops)
	}
	return ns, cpu
}

// child is the life of one process.
func child(p Program, role, where string, size, ops int) error {
	if role == "server" {
		endpoint, accept, err := p.Listen(where)
		if err != nil {
			return err
		}
		fmt.Println(endpoint)
		s, err := accept()
		if err != nil {
			return err
		}
		for {
			m, err := s.Recv()
			if err != nil {
				return nil
			}
			if err := s.Send(m); err != nil {
				return err
			}
		}
	}
	s, err := p.Dial(where)
	if err != nil {
		return err
	}
	msg := make([]byte, size)
	var start time.Time
	for i := range warmUp + ops {
		if i == warmUp {
			start = time.Now()
		}
		if err := s.Send(msg); err != nil {
			return err
		}
		if m, err := s.Recv(); err != nil || len(m) != size {
			return fmt.Errorf("%d B: %w", len(m), err)
		}
	}
	fmt.Println(float64(time.Since(start)) / float64(ops))
	return nil
}
