package worker

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"

	"msgbench/bench/protocol"
	"msgbench/measure"
	"msgbench/pinning"
	"msgbench/results"
	"msgbench/scenarios"
	"msgbench/transports"
	"msgbench/transports/all"
)

// measure gives what this process has to say in the end.
func (w *worker) measure(args protocol.Args) (any, error) {
	if args.Mlock {
		if err := lockMemory(); err != nil {
			return nil, fmt.Errorf("lock memory: %w", err)
		}
	}
	if args.Scenario == results.CalibrationCell {
		return w.calibrate(args)
	}
	m, err := w.run(args)
	return protocol.ResultInfo{Measurement: m, Interference: w.there.interference()}, err
}

// run takes the worker from connecting to its result.
func (w *worker) run(args protocol.Args) (*results.Measurement, error) {
	if args.Dims["gc"] == "off" {
		debug.SetGCPercent(-1)
	}
	scenario, err := scenarios.Find(args.Scenario)
	if err != nil {
		return nil, err
	}
	side := &scenarios.Side{
		Role: args.Role,
		Params: scenarios.Params{
			Payload: args.Payload, Rate: args.Rate, Warmup: args.Warmup, WarmupOps: args.WarmupOps,
			WarmupMax: args.WarmupMax, Window: args.Duration, Count: args.Count,
		},
		Measuring: func() { w.say(protocol.Measuring, nil) }, // a runner that is gone shows at the next line
		Done:      func() { w.say(protocol.Done, nil) },
	}
	if err := side.Params.SetDims(args.Dims); err != nil {
		return nil, err
	}
	if args.Role == results.Broker {
		return w.serveBroker(args)
	}
	role, err := scenario.Role(side.Params, args.Role)
	if err != nil {
		return nil, err
	}
	var brokered transports.Brokered
	if scenario.NoTransport {
		if err := w.say(protocol.Ready, protocol.ReadyInfo{}); err != nil {
			return nil, err
		}
	} else {
		transport, err := all.Find(args.Transport)
		if err != nil {
			return nil, err
		}
		if brokered, err = setBroker(side, scenario, transport, args); err != nil {
			return nil, err
		}
		if side.LockThread {
			runtime.LockOSThread()
			// On one CPU Go has one processor, which its monitor thread takes from every call that blocks for some 20 µs, on the
			// CPU that has the next message to handle. While another one is idle it leaves the first alone for 10 ms
			// (docs/go-on-the-hot-path.md). Under SCHED_FIFO it would not get a turn beside a thread that spins.
			if s, err := pinning.ReadScheduling(os.Getpid()); err != nil || s.RT == 0 {
				runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0), 2))
			}
			defer runtime.UnlockOSThread()
		}
		if err := w.connect(side, scenario, role, transport, args); err != nil {
			return nil, err
		}
	}
	start, err := w.awaitStart()
	if err != nil {
		return nil, err
	}
	// Those of another host are read there, by the process that answers.
	if !role.Listens || args.Listen != "" {
		if side.Clocks, err = clocks(start.PIDs); err != nil {
			return nil, err
		}
	}
	stopProfile, err := startProfile(args.Profile)
	if err != nil {
		return nil, err
	}
	w.there.begin(start.PIDs)
	m, err := role.Run(side)
	w.there.end()
	if err := errors.Join(err, stopProfile()); err != nil {
		return nil, err
	}
	if m.Facts == nil {
		m.Facts = map[string]string{}
	}
	if brokered != nil {
		across(m, side, brokered)
	}
	for _, c := range side.Conns {
		for k, v := range c.Facts() {
			m.Facts[k] = v
		}
	}
	return m, nil
}

// connect listens or dials as the role asks, and says that it is ready.
func (w *worker) connect(side *scenarios.Side, s scenarios.Scenario, role scenarios.Role, t transports.Transport, args protocol.Args) error {
	o := &side.Options
	o.Dir, o.Address = args.Dir, args.Listen
	o.Wait, o.Pattern = transports.Wait(args.Dims["wait"]), s.Pattern
	o.MaxMessage, o.Depth, o.Nagle = s.MaxMessage(side.Params), side.Params.Depth, args.Dims["nodelay"] == "off"
	if v, ok := args.Dims["buffer"]; ok {
		n, err := strconv.Atoi(v)
		if err != nil {
			return fmt.Errorf("buffer: %q is not a number", v)
		}
		side.Options.Buffer = n
	}
	if b, ok := t.(transports.Broadcaster); ok {
		side.Broadcast = b
	}
	if !role.Listens {
		for _, e := range args.Endpoints {
			conn, err := t.Dial(e, side.Options)
			if err != nil {
				return fmt.Errorf("dial %s: %w", args.Transport, err)
			}
			w.hold(conn)
			side.Conns = append(side.Conns, conn)
		}
		return w.say(protocol.Ready, protocol.ReadyInfo{})
	}
	var listeners []transports.Listener
	var ready protocol.ReadyInfo
	if args.Listen != "" {
		ready.Home = home()
	}
	for range role.Conns {
		l, err := t.Listen(side.Options)
		if err != nil {
			return fmt.Errorf("listen %s: %w", args.Transport, err)
		}
		w.hold(l)
		listeners = append(listeners, l)
		ready.Endpoints = append(ready.Endpoints, l.Endpoint())
	}
	if err := w.say(protocol.Ready, ready); err != nil {
		return err
	}
	// In the order in which the other side dials.
	for _, l := range listeners {
		conn, err := l.Accept()
		if err != nil {
			return fmt.Errorf("accept %s: %w", args.Transport, err)
		}
		w.hold(conn)
		side.Conns = append(side.Conns, conn)
	}
	return nil
}

// clocks are the CPU clocks of all processes, where this system has them.
func clocks(pids map[string][]int) ([]scenarios.RoleClock, error) {
	var c []scenarios.RoleClock
	for _, role := range []string{results.Client, results.Server, results.Broker, results.Publisher, results.Subscriber} {
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
