package bench

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"msgbench/bench/protocol"
	"msgbench/results"
	"msgbench/scenarios"
	"msgbench/transports"
)

// Brokered tells whether a process in the middle forwards the messages of a cell: only such cells have a scope.
func Brokered(c results.Cell) bool { return c.Dim("scope") != "" }

// brokerRole is the process in the middle. It is no part of any scenario.
var brokerRole = scenarios.Role{Name: results.Broker, Processes: 1, Listens: true}

// startBroker starts the process in the middle, which the others will be told of.
func (e *execution) startBroker(ctx context.Context) error {
	p, err := e.start(brokerRole, 0, nil, nil)
	if err != nil {
		return err
	}
	var ready protocol.ReadyInfo
	if err := p.expect(ctx, protocol.Ready, &ready, e.w.limits.ready); err != nil {
		return err
	}
	if err := p.arrived(ready, 1); err != nil {
		return err
	}
	e.broker = ready.Endpoints[0]
	return nil
}

// joinBroker ends the process in the middle, once all others have given their results, and adds what it counted, as often as
// the others did where they counted in steps.
func (e *execution) joinBroker(ctx context.Context, m *results.Measurement, others []*results.Measurement) error {
	var ask any
	if m.Series != nil && m.Series.StartNs > 0 && len(others) > 0 && others[0].Series != nil {
		ask = protocol.ReportInfo{StartNs: m.Series.StartNs, StepNs: m.Series.StepNs, Steps: max(len(others[0].Series.Received), 1)}
	}
	for _, p := range e.processes {
		if p.role != results.Broker {
			continue
		}
		if err := p.say(protocol.Report, ask); err != nil {
			return err
		}
		var o results.Measurement
		if err := p.expect(ctx, protocol.Result, &o, e.w.limits.grace); err != nil {
			return err
		}
		if m.Facts == nil {
			m.Facts = map[string]string{}
		}
		m.Router = o.Router
		for k, v := range o.Facts {
			m.Facts[k] = v
		}
		if ask == nil {
			continue
		}
		if o.Series == nil || len(o.Series.Routed) == 0 {
			return fmt.Errorf("%s: it has not counted the messages of the window", p.name)
		}
		m.Series.Routed = o.Series.Routed
	}
	return nil
}

// The dimensions that only brokered transports have.
const (
	handoffGoroutine = "goroutine"
	handoffThread    = "thread"
)

// setScope sets the dimensions of a brokered cell, or says which of them does not go together with what. put and known are
// setDims' own.
func setScope(cell *results.Cell, s scenarios.Scenario, t sized, transport word, given map[string]word,
	put func(name, value, standard string), known map[string]bool) error {
	known["scope"] = true
	scope := given["scope"]
	if scope.text == "" {
		scope.text, scope.line = string(transports.Stack), transport.line
	}
	name := t.Info().Name
	sizes := t.Sizes(transports.Scope(scope.text))
	if sizes != nil && len(sizes) == 0 {
		return scope.errorf("scope: %s has no scope=%s", name, scope.text)
	}
	switch transports.Scope(scope.text) {
	case transports.Stack:
		if _, ours := t.(transports.Brokered); !ours {
			break // it hands over as it does
		}
		known["handoff"] = true
		w, ok := given["handoff"]
		if !ok {
			w.text = handoffGoroutine
		}
		if w.text != handoffGoroutine && w.text != handoffThread {
			return w.errorf("handoff: %q is neither %s nor %s", w.text, handoffGoroutine, handoffThread)
		}
		put("handoff", w.text, handoffGoroutine)
	case transports.Raw:
		if w, ok := given["handoff"]; ok {
			return w.errorf("handoff: scope=%s hands nothing over", transports.Raw)
		}
	default:
		return scope.errorf("scope: %q is neither %s nor %s", scope.text, transports.Stack, transports.Raw)
	}
	put("scope", scope.text, string(transports.Stack))
	if s.Payload && sizes != nil && !slices.Contains(sizes, cell.Payload) {
		any := fmt.Sprintf(" (scope=%s carries any)", transports.Raw)
		if t.Sizes(transports.Raw) != nil {
			any = ""
		}
		return scope.errorf("payload: scope=%s of %s carries %s B, not %d B%s", scope.text, name,
			strings.Trim(strings.ReplaceAll(fmt.Sprint(sizes), " ", ", "), "[]"), cell.Payload, any)
	}
	return nil
}

// untyped tells whether a payload has no type in the scope of a brokered entry. Where the command line put it there, the
// entry has no such cell; the suite's own would be a mistake.
func (s cellSpec) untyped(c Catalog, transport, payload word) bool {
	for _, t := range c.Transports {
		b, ok := t.(sized)
		if !ok || t.Info().Name != transport.text {
			continue
		}
		for _, scope := range s.Scope.or(string(transports.Stack)) {
			sizes := b.Sizes(transports.Scope(scope.text))
			if n, err := ParseSize(payload.text); err == nil && sizes != nil && !slices.Contains(sizes, n) {
				return true
			}
		}
	}
	return false
}
