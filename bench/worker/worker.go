// Package worker is the process side of a sample: what `msgbench worker` does in its role.
package worker

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"msgbench/bench/protocol"
	"msgbench/measure"
	"msgbench/results"
	"msgbench/scenarios"
	"msgbench/transports"
	"msgbench/transports/all"
)

// Main runs one worker to its end: words are its command line, in and out the protocol.
func Main(words []string, in io.Reader, out io.Writer) error {
	w := &worker{out: out, start: make(chan protocol.StartInfo, 1), stop: make(chan struct{})}
	if len(words) == 1 && words[0] == "--describe" {
		return w.say(protocol.Hello+" "+fmt.Sprint(protocol.Version), describe())
	}
	args, err := protocol.ParseArgs(words)
	if err != nil {
		return fmt.Errorf("worker: %w", err)
	}
	onTerminate(w.leave)
	go w.listen(in)
	m, err := w.run(args)
	if err != nil {
		err = fmt.Errorf("%s: %w", args.Role, err)
		w.cleanUp()
		if sayErr := w.say(protocol.Error, protocol.ErrorInfo{Reason: err.Error()}); sayErr != nil {
			return sayErr
		}
		return err
	}
	if err := w.say(protocol.Result, m); err != nil {
		return err
	}
	<-w.stop
	w.cleanUp()
	return nil
}

// leaveTime is how long closing may take once nobody waits for us.
const leaveTime = 300 * time.Millisecond

// exitOrphan is the exit status of a worker whose runner is gone. The main goroutine may be in any call, so that leaving
// can't wait for it to return.
const exitOrphan = 3

type worker struct {
	out   io.Writer
	start chan protocol.StartInfo
	stop  chan struct{} // closed by stop
	mu    sync.Mutex
	held  []io.Closer // what must be closed, and unlinked, before this process ends
}

// say prints one line of the protocol.
func (w *worker) say(word string, v any) error {
	line, err := protocol.Line(word, v)
	if err != nil {
		return err
	}
	_, err = w.out.Write(line)
	return err
}

// listen reads what the runner says. When the runner is gone, its end of the pipe is closed: then nothing keeps us here.
func (w *worker) listen(in io.Reader) {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		word, rest, _ := strings.Cut(lines.Text(), " ")
		switch word {
		case protocol.Start:
			var s protocol.StartInfo
			if err := json.Unmarshal([]byte(rest), &s); err != nil {
				fmt.Fprintf(os.Stderr, "worker: start: %v\n", err)
				w.leave()
			}
			w.start <- s
		case protocol.Stop:
			close(w.stop)
			return
		}
	}
	w.leave()
}

// leave ends the process at once, in whatever call it is, after removing what it made.
func (w *worker) leave() {
	closed := make(chan struct{})
	go func() {
		w.cleanUp()
		close(closed)
	}()
	// Closing is quick; but a library that hangs in it must not keep an orphan alive.
	select {
	case <-closed:
	case <-time.After(leaveTime):
	}
	os.Exit(exitOrphan)
}

func (w *worker) hold(c io.Closer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held = append(w.held, c)
}

func (w *worker) cleanUp() {
	w.mu.Lock()
	held := w.held
	w.held = nil
	w.mu.Unlock()
	for i := len(held) - 1; i >= 0; i-- {
		if err := held[i].Close(); err != nil {
			fmt.Fprintf(os.Stderr, "worker: close: %v\n", err)
		}
	}
}

// run takes the worker from connecting to its result.
func (w *worker) run(args protocol.Args) (*results.Measurement, error) {
	scenario, err := scenarios.Find(args.Scenario)
	if err != nil {
		return nil, err
	}
	transport, err := all.Find(args.Transport)
	if err != nil {
		return nil, err
	}
	params := scenarios.Params{
		Payload: args.Payload, Rate: args.Rate, Warmup: args.Warmup, WarmupOps: args.WarmupOps,
		WarmupMax: args.WarmupMax, Window: args.Duration,
	}
	options := transports.Options{
		Dir: args.Dir, Wait: transports.Wait(args.Dims["wait"]), Pattern: scenario.Pattern,
		MaxMessage: scenario.MaxMessage(params), Nagle: args.Dims["nodelay"] == "off",
	}
	if transport.Info().LockThread {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
	}
	run := scenario.Client
	if args.Role == results.Server {
		run = scenario.Server
	}
	conn, err := w.connect(transport, args, options)
	if err != nil {
		return nil, err
	}
	start, err := w.awaitStart()
	if err != nil {
		return nil, err
	}
	side := &scenarios.Side{
		Conn: conn, Params: params,
		Measuring: func() { w.say(protocol.Measuring, nil) }, // a runner that is gone shows at the next line
		Done:      func() { w.say(protocol.Done, nil) },
	}
	if args.Role == results.Client {
		if side.Clocks, err = clocks(start.PIDs); err != nil {
			return nil, err
		}
	}
	m, err := run(side)
	if err != nil {
		return nil, err
	}
	m.Facts = conn.Facts()
	return m, nil
}

// connect listens or dials as the role asks, and says that it is ready.
func (w *worker) connect(t transports.Transport, args protocol.Args, o transports.Options) (transports.Conn, error) {
	if args.Role == results.Client {
		conn, err := t.Dial(args.Endpoint, o)
		if err != nil {
			return nil, fmt.Errorf("dial %s: %w", args.Transport, err)
		}
		w.hold(conn)
		return conn, w.say(protocol.Ready, protocol.ReadyInfo{})
	}
	l, err := t.Listen(o)
	if err != nil {
		return nil, fmt.Errorf("listen %s: %w", args.Transport, err)
	}
	w.hold(l)
	if err := w.say(protocol.Ready, protocol.ReadyInfo{Endpoint: l.Endpoint()}); err != nil {
		return nil, err
	}
	conn, err := l.Accept()
	if err != nil {
		return nil, fmt.Errorf("accept %s: %w", args.Transport, err)
	}
	w.hold(conn)
	return conn, nil
}

func (w *worker) awaitStart() (protocol.StartInfo, error) {
	select {
	case s := <-w.start:
		return s, nil
	case <-w.stop:
		return protocol.StartInfo{}, errors.New("stopped before it was started")
	}
}

// clocks are the CPU clocks of all processes, where this system has them.
func clocks(pids map[string][]int) ([]scenarios.RoleClock, error) {
	var c []scenarios.RoleClock
	for _, role := range []string{results.Client, results.Server, results.Broker} {
		for _, pid := range pids[role] {
			clock, err := measure.ProcessCPU(pid)
			if errors.Is(err, errors.ErrUnsupported) {
				return nil, nil
			}
			if err != nil {
				return nil, err
			}
			c = append(c, scenarios.RoleClock{Role: role, Clock: clock})
		}
	}
	return c, nil
}

func describe() protocol.Description {
	d := protocol.Description{Peer: "go", Versions: map[string]string{"go": runtime.Version()}, Port0: true}
	for _, t := range all.Table() {
		d.Transports = append(d.Transports, t.Info().Name)
	}
	for _, s := range scenarios.Table {
		d.Scenarios = append(d.Scenarios, s.Name)
	}
	return d
}
