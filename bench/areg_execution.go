package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"msgbench/bench/areg"
	"msgbench/bench/witness"
	"msgbench/measure"
	"msgbench/pinning"
	"msgbench/results"
	"msgbench/scenarios"
)

// aregExecution is one sample of areg-sdk's programs while it runs.
type aregExecution struct {
	a                          *aregSampler
	cell                       results.Cell
	placed                     map[string][]int
	sample                     *results.Sample
	router, provider, consumer *aregProcess     // nil before they are started
	result                     chan struct{}    // closed when the consumer has printed its result
	warmup                     int64            // operations
	cpu, before                map[string]int64 // used till the result, and before the consumer was started
}

// roles are what provider and consumer are called in the scenario of the cell: its driver, to which latencies belong, and the other.
func (e *aregExecution) roles() (provider, consumer string) {
	if e.cell.Scenario == scenarios.Broadcast.Name {
		return results.Publisher, results.Subscriber
	}
	return results.Server, results.Client
}

// run takes the programs from their start to the end of consumer and provider.
func (e *aregExecution) run(ctx context.Context) (err error) {
	stage := e.a.stage
	if err := e.startRouter(ctx); err != nil {
		return err
	}
	provider, consumer := e.roles()
	if e.provider, err = e.start(provider, stage.Provider(), nil); err != nil {
		return err
	}
	window, count := Window(e.a.policy, e.cell).Milliseconds(), e.a.policy.Count
	e.warmup = e.a.warmupTurns(e.cell)
	before := e.used() // of those two, before there is anything to do for them
	words := stage.Consumer(areg.Mode(e.cell), e.warmup, window, count)
	if _, err := e.start(consumer, words, func() { e.gotResult(before) }); err != nil {
		return err
	}
	var of []witness.Process
	for _, p := range e.processes() {
		pl, err := e.a.readBack(p.name, p.cmd.Process.Pid, e.placed[p.name])
		if err != nil {
			return e.blame(err)
		}
		e.sample.Placement[p.name] = pl
		of = append(of, witness.Process{Role: p.name, PID: pl.PID, Allowed: pl.Allowed})
	}
	seen := witness.New(e.a.topology, of)
	driver := consumer
	if e.cell.Scenario == scenarios.Broadcast.Name {
		driver = provider
	}
	e.sample.Relation = e.relation(driver)
	if err := e.await(ctx, e.result, e.a.longestRun(e.cell), "no result"); err != nil {
		return err
	}
	e.sample.Interference = seen.End()
	// It writes its file now, asks the provider to end, and ends.
	if err := e.await(ctx, e.consumer.exited, e.a.limits.grace+e.a.longest(e.cell), "no end after its result"); err != nil {
		return err
	}
	if e.consumer.err != nil {
		return fmt.Errorf("%s: %w: %s", consumer, e.consumer.err, e.consumer.last())
	}
	return nil
}

// relation is what the driver shares with the others: the word for each of them, once.
func (e *aregExecution) relation(driver string) string {
	var words []string
	for name, p := range e.sample.Placement {
		if name == driver {
			continue
		}
		if r := pinning.Relation(e.a.topology, e.sample.Placement[driver].Allowed, p.Allowed); !slices.Contains(words, r) {
			words = append(words, r)
		}
	}
	slices.Sort(words)
	return strings.Join(words, "|")
}

// startRouter starts the router at a port of its own and waits until it listens there.
func (e *aregExecution) startRouter(ctx context.Context) error {
	for try := 1; ; try++ {
		ports, err := reservePorts(1)
		if err != nil {
			return err
		}
		if err := e.a.stage.Prepare(ports[0]); err != nil {
			return err
		}
		if e.router, err = e.start(results.Broker, e.a.stage.Router(), nil); err != nil {
			return err
		}
		err = e.awaitPort(ctx, ports[0])
		if !errors.Is(err, errPortTaken) || try == portTries {
			return err
		}
		taken := e.router
		e.router = nil
		taken.kill()
		if err := e.a.janitor.forget(taken.cmd.Process.Pid); err != nil {
			return err
		}
	}
}

// portPoll is how often it is looked whether the router listens, before anything is measured.
const portPoll = 5 * time.Millisecond

func (e *aregExecution) awaitPort(ctx context.Context, port int) error {
	deadline := time.Now().Add(e.a.limits.ready)
	for {
		own, taken, err := listens(e.router.cmd.Process.Pid, port)
		switch {
		case own:
			return nil
		case taken:
			return fmt.Errorf("%w: %d, which the router was to have", errPortTaken, port)
		case time.Now().After(deadline):
			return fmt.Errorf("the router does not listen on port %d within %s (%v): %s", port, e.a.limits.ready, err, e.router.last())
		}
		select {
		case <-e.router.exited:
			return fmt.Errorf("the router ended before it listened: %s: %s", e.router.exitReason(), e.router.last())
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(portPoll):
		}
	}
}

// await waits for something of the consumer. When another process ends, the consumer is given the time to notice and to say
// what it still has to say: it asks the provider to end, which may be faster.
func (e *aregExecution) await(ctx context.Context, what <-chan struct{}, within time.Duration, missing string) error {
	timer := time.NewTimer(within)
	defer timer.Stop()
	router, provider := e.router.exited, e.provider.exited
	var alone <-chan time.Time
	for {
		select {
		case <-what:
			return nil
		case <-e.consumer.exited: // all that it printed has been read
			select {
			case <-what:
				return nil
			default:
			}
			return e.blame(fmt.Errorf("%s ended: %s, %s: %s", e.consumer.name, e.consumer.exitReason(), missing, e.consumer.last()))
		case <-router:
			router, alone = nil, time.After(e.a.limits.stop)
		case <-provider:
			provider, alone = nil, time.After(e.a.limits.stop)
		case <-alone:
			return e.blame(fmt.Errorf("%s: %s, and the others are gone: %s", e.consumer.name, missing, e.consumer.last()))
		case <-timer.C:
			return fmt.Errorf("%s hangs: %s within %s: %s", e.consumer.name, missing, within, e.consumer.last())
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// blame looks for the process that ended first: provider and consumer end, with status 0, when they lose the others.
func (e *aregExecution) blame(err error) error {
	time.Sleep(lastWords)
	var ended []*aregProcess
	for _, p := range e.processes() {
		select {
		case <-p.exited:
			ended = append(ended, p)
		default:
		}
	}
	slices.SortFunc(ended, func(a, b *aregProcess) int { return a.ended.Compare(b.ended) })
	for _, p := range ended {
		if p.err != nil {
			return fmt.Errorf("%s ended: %s: %s", p.name, p.exitReason(), p.last())
		}
	}
	if len(ended) > 0 && !slices.Contains(ended, e.consumer) {
		return fmt.Errorf("%s ended: %s: %s", ended[0].name, ended[0].exitReason(), ended[0].last())
	}
	return err
}

// gotResult is called with the line that the consumer prints as soon as its window is over. Nobody tells when the window begins, so that
// the CPU time has the consumer's start, its connecting and the warm-up in it, which the row says (results.ProcessCPU).
func (e *aregExecution) gotResult(before map[string]int64) {
	e.cpu, e.before = e.used(), before
	close(e.result)
}

// cpuTime is the CPU time by role. One that had ended before it could be read is told by all that it used: that is no less.
func (e *aregExecution) cpuTime() map[string]int64 {
	for _, p := range e.processes() {
		if _, ok := e.cpu[p.name]; !ok {
			e.cpu[p.name] = int64(p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime())
		}
		e.cpu[p.name] -= e.before[p.name]
	}
	return e.cpu
}

// used is the CPU time of the programs so far in ns, by role; without those whose clock can't be read.
func (e *aregExecution) used() map[string]int64 {
	m := map[string]int64{}
	for _, p := range e.processes() {
		clock, err := measure.ProcessCPU(p.cmd.Process.Pid)
		if err != nil {
			continue
		}
		if ns, err := clock.Read(); err == nil {
			m[p.name] = ns
		}
	}
	return m
}

// end ends whatever is still there. Provider and consumer have left by themselves where all went well; how the router does is of no
// interest.
func (e *aregExecution) end(runErr error) error {
	wait := e.a.limits.stop
	if runErr != nil {
		wait = e.a.limits.leave
	}
	for _, p := range e.processes() {
		// One that has ended already can't be told.
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
	}
	deadline := time.Now().Add(wait)
	var errs []error
	for _, p := range e.processes() {
		select {
		case <-p.exited:
		case <-time.After(time.Until(deadline)):
			p.kill()
		}
		errs = append(errs, e.a.janitor.forget(p.cmd.Process.Pid))
	}
	return errors.Join(errs...)
}

// processes are those that were started.
func (e *aregExecution) processes() []*aregProcess {
	var ps []*aregProcess
	for _, p := range []*aregProcess{e.router, e.provider, e.consumer} {
		if p != nil {
			ps = append(ps, p)
		}
	}
	return ps
}

// said is what the programs printed last, by role; nil if nothing.
func (e *aregExecution) said() map[string]string {
	var out map[string]string
	for _, p := range e.processes() {
		if s := p.output.String(); s != "" {
			if out == nil {
				out = map[string]string{}
			}
			out[p.name] = s
		}
	}
	return out
}
