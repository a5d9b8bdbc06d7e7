package bench

import (
	"errors"
	"fmt"
	"time"

	"msgbench/bench/protocol"
)

// lastWords is how long after the end of a process what it and the others have said of it is still waited for.
const lastWords = 300 * time.Millisecond

// watch ends the sample when a process is gone, whomever the runner is waiting for: some libraries never tell the other
// side.
func (e *execution) watch(p *process) {
	<-p.exited
	time.Sleep(lastWords)
	e.died(fmt.Errorf("%s ended: %s", p.label(), p.exitReason()))
}

// blame looks for the cause of a process's failure, that of the driver mostly: when another process is the one that broke, it only
// saw the connection end.
func (e *execution) blame(failed *process, err error) error {
	for _, p := range e.processes {
		if p == failed {
			continue
		}
		select {
		case l, ok := <-p.lines:
			if !ok {
				<-p.exited
				return fmt.Errorf("%s ended: %s (%w)", p.label(), p.exitReason(), err)
			}
			if l.word == protocol.Error || l.err != nil {
				return fmt.Errorf("%w (%w)", p.take(l, protocol.Result, nil), err)
			}
		case <-time.After(200 * time.Millisecond):
		}
	}
	return err
}

// end stops the processes, or after an error kills them, and waits until they are gone.
func (e *execution) end(runErr error) error {
	var errs []error
	wait := e.w.limits.stop
	if runErr != nil {
		wait = e.w.limits.leave // its standard input ends, so it removes what it made and leaves
	}
	for _, p := range e.processes {
		if runErr == nil {
			errs = append(errs, p.say(protocol.Stop, nil))
		} else {
			p.dismiss() // all at once: each may take that long
		}
	}
	deadline := time.Now().Add(wait)
	for _, p := range e.processes {
		if runErr == nil {
			errs = append(errs, p.silent(deadline))
		}
		err := p.endBy(deadline, wait)
		if runErr == nil && err != nil {
			errs = append(errs, fmt.Errorf("%s after its result: %w", p.label(), err))
		}
		errs = append(errs, e.w.janitor.forget(p.cmd.Process.Pid))
	}
	return errors.Join(errs...)
}

// stderr is what the processes wrote there, by role; nil if nothing.
func (e *execution) stderr() map[string]string {
	var out map[string]string
	for _, p := range e.processes {
		if s := p.stderr.String(); s != "" {
			if out == nil {
				out = map[string]string{}
			}
			out[p.name] = s
		}
	}
	return out
}
