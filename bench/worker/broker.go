package worker

import (
	"errors"
	"fmt"

	"msgbench/bench/protocol"
	"msgbench/measure"
	"msgbench/results"
	"msgbench/scenarios"
	"msgbench/transports"
	"msgbench/transports/all"
)

// setBroker sets what a process in the middle, if the transport has one, changes for this side. It is nil where there is none.
func setBroker(side *scenarios.Side, s scenarios.Scenario, t transports.Transport, args protocol.Args) (transports.Brokered, error) {
	side.LockThread = t.Info().LockThread
	b, ok := t.(transports.Brokered)
	if !ok {
		return nil, nil
	}
	if args.Broker == "" {
		return nil, fmt.Errorf("%s needs broker=", args.Transport)
	}
	side.Options.Broker = args.Broker
	side.Options.Scope = transports.Scope(args.Dims["scope"])
	side.Options.LockThread = args.Dims["handoff"] == "thread"
	side.Options.Fields = s.TypedFields
	side.LockThread = b.Locks(side.Options)
	return b, nil
}

// across corrects what scenarios take for granted of a direct connection: hops, and the bytes of a message.
func across(m *results.Measurement, side *scenarios.Side, b transports.Brokered) {
	if m.Hops > 0 {
		m.Hops = b.Hops()
	}
	c, ok := side.Conns[0].(transports.Sized)
	if !ok {
		return
	}
	request, response := c.WireSizes(int(m.RequestBytes)-transports.EnvelopeSize, int(m.ResponseBytes)-transports.EnvelopeSize)
	if m.RequestBytes > 0 {
		m.RequestBytes = int64(request)
	}
	if m.ResponseBytes > 0 {
		m.ResponseBytes = int64(response)
	}
}

// serveBroker is the process in the middle. It forwards from the time that it is ready to the runner's report.
func (w *worker) serveBroker(args protocol.Args) (*results.Measurement, error) {
	t, err := all.Find(args.Transport)
	if err != nil {
		return nil, err
	}
	b, ok := t.(transports.Brokered)
	if !ok {
		return nil, fmt.Errorf("%s has no broker", args.Transport)
	}
	m, err := b.ListenBroker(transports.Options{Dir: args.Dir, Address: args.Listen, Meter: args.Scenario == scenarios.DataRate.Name})
	if err != nil {
		return nil, err
	}
	w.hold(m)
	served := make(chan error, 1)
	go func() { served <- m.Serve() }()
	ready := protocol.ReadyInfo{Endpoints: []string{m.Endpoint()}}
	if args.Listen != "" {
		ready.Home = home()
	}
	if err := w.say(protocol.Ready, ready); err != nil {
		return nil, err
	}
	stopProfile, err := startProfile(args.Profile)
	if err != nil {
		return nil, err
	}
	select {
	case err := <-served:
		return nil, errors.Join(fmt.Errorf("the router ended: %w", err), stopProfile())
	case r := <-w.report:
		o := &results.Measurement{Facts: m.Facts(), Router: m.Counts()}
		if ns, err := measure.UserCPU(); err == nil {
			o.Router["user_ns"] = ns
		}
		if r.Steps > 0 {
			o.Series = &results.Series{StepNs: r.StepNs, Routed: m.Series(r.StartNs, r.StepNs, r.Steps)}
		}
		return o, stopProfile()
	}
}
