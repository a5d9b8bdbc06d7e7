package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"msgbench/bench/protocol"
	"msgbench/measure"
	"msgbench/pinning"
	"msgbench/results"
	"msgbench/stability"
)

// Calibrator is a Sampler that can tell how fast the machine is just now.
type Calibrator interface {
	// Calibrate gives the line of the journal for the start of a round. An error is errors.ErrUnsupported, or means that nothing
	// can be measured any more; that a calibration failed is in the sample.
	Calibrate(ctx context.Context) (results.Sample, error)
}

var _ Calibrator = (*Workers)(nil)

// How long each of the two round trips of a calibration is warmed up and measured.
const (
	calibrationWarmup = 5 * time.Millisecond
	calibrationWindow = 50 * time.Millisecond
)

// calibrationTime is about what a calibration takes.
const calibrationTime = 2*(calibrationWarmup+calibrationWindow) + overhead

// calibrations is about what those of a round of these cells take.
func calibrations(p results.Policy, cells []results.Cell) time.Duration {
	if !p.Calibrate || len(cells) == 0 {
		return 0
	}
	return calibrationTime
}

// calibrate writes the line of a calibration, before the first sample of a round that this process takes: a round that is
// resumed has one more.
func (m *matrix) calibrate(ctx context.Context, attempt int) error {
	c, ok := m.sampler.(Calibrator)
	if !ok || !m.run.Policy.Calibrate {
		return nil
	}
	s, err := c.Calibrate(ctx)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	if err != nil {
		return err
	}
	s.Round, s.Attempt = m.round, attempt
	m.calibrations.Add(s)
	if s.Reason == "" {
		c := s.Calibration
		for _, x := range m.calibrations.Of(c.Of).Series {
			index := x.Index()
			switch last := index[len(index)-1]; x.Name {
			case stability.CacheLine:
				c.LineIndex = last
			case stability.Pipe:
				c.PipeIndex = last
			}
		}
	}
	if err := m.write(s); err != nil {
		return err
	}
	m.progress.After(s)
	return nil
}

// Calibrate has two processes pass numbers to and fro on the CPUs that client and server have by the plan of the run.
func (w *Workers) Calibrate(ctx context.Context) (results.Sample, error) {
	s := results.Sample{Cell: results.CalibrationCell, Started: time.Now().UTC(), Outcome: results.Calibrated,
		Calibration: &results.Calibration{}, Placement: map[string]results.Placement{}}
	if runtime.GOOS != "linux" {
		return s, errors.ErrUnsupported
	}
	begun := measure.Now()
	e := &execution{w: w, sample: &s, dir: filepath.Join(w.dir, fmt.Sprint(w.samples))}
	w.samples++
	// A plan that names other roles only leaves these two where they are.
	e.placed, _ = w.plan.Place(w.topology, []string{results.Client, results.Server})
	if err := os.Mkdir(e.dir, 0o700); err != nil {
		return s, fmt.Errorf("folder for endpoints: %w", err)
	}
	failed, err := e.through(ctx, begun, e.calibrate)
	if err == nil && failed != nil {
		s.Calibration, s.Reason, s.Stderr = &results.Calibration{}, oneLine(failed.Error()), e.stderr()
	}
	return s, err
}

// calibrate takes the two processes from start to result.
func (e *execution) calibrate(ctx context.Context) error {
	limits := e.w.limits
	server, err := e.startCalibration(results.Server, nil)
	if err != nil {
		return err
	}
	var ready protocol.ReadyInfo
	if err := server.expect(ctx, protocol.Ready, &ready, limits.ready); err != nil {
		return err
	}
	client, err := e.startCalibration(results.Client, ready.Endpoints)
	if err != nil {
		return err
	}
	if err := client.expect(ctx, protocol.Ready, &protocol.ReadyInfo{}, limits.ready); err != nil {
		return e.blame(client, err)
	}
	if err := e.readPlacement(); err != nil {
		return err
	}
	for _, p := range e.processes {
		if err := p.say(protocol.Start, protocol.StartInfo{}); err != nil {
			return err
		}
	}
	if err := client.expect(ctx, protocol.Result, e.sample.Calibration, limits.grace); err != nil {
		return e.blame(client, err)
	}
	return server.expect(ctx, protocol.Result, nil, limits.grace)
}

// startCalibration starts one side: always this msgbench, whatever the peers of the cells are.
func (e *execution) startCalibration(role string, endpoints []string) (*process, error) {
	dims := map[string]string{}
	if pinning.Shared(e.placed) != "" {
		dims["cpu"] = "shared"
	}
	p, err := e.w.start(protocol.Args{
		Role: role, Scenario: results.CalibrationCell, Transport: noTransport, Payload: results.NoPayload,
		Warmup: calibrationWarmup, Duration: calibrationWindow, Dir: e.dir, Endpoints: endpoints, Mlock: e.w.policy.Mlock, Dims: dims,
	}, e.w.exe, role, nil, pinning.Options{CPUs: e.placed[role], RT: e.w.policy.RT})
	if err != nil {
		return nil, err
	}
	e.processes = append(e.processes, p)
	go e.watch(p)
	return p, e.w.janitor.watch(p.cmd.Process.Pid)
}
