package scenarios

import (
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"time"

	"msgbench/measure"
	"msgbench/results"
	"msgbench/results/hist"
	"msgbench/transports"
)

const maxChannels = 64

// DataRate streams messages one way, over one or more connections side by side. An operation is a message received.
var DataRate = Scenario{
	Name:       "data-rate",
	Summary:    "messages one way, as fast as they go or on a schedule, over one or more channels; counted as received",
	Pattern:    transports.Stream,
	Payload:    true,
	Paced:      true,
	Dims:       []Dim{{Name: "channels", Default: fixedDefault("1"), Check: numberFrom1(maxChannels)}},
	MaxMessage: func(p Params) int { return envelope + p.Payload },
	Roles: func(p Params) []Role {
		return []Role{
			{Name: results.Server, Processes: 1, Listens: true, Conns: max(p.Channels, 1), Run: dataRateServer},
			{Name: results.Client, Processes: 1, Run: dataRateClient},
		}
	},
	Join: joinDataRate,
}

// The time between the mark and the start that it tells: first this long and then twice as long each time that the answers
// came too late, so many times.
const (
	firstLead = 4 * time.Millisecond
	leadTries = 9
	startStep = int64(10 * time.Millisecond) // windows start at a multiple of it
)

func dataRateClient(s *Side) (*results.Measurement, error) {
	if err := oneWayClock(); err != nil {
		return nil, err
	}
	p := s.Params
	channels := len(s.Conns)
	ownProcessors(s)
	senders, crowd := make([]*streamSender, channels), &measure.Crowd{}
	for i := range senders {
		senders[i] = newStreamSender(s, i)
		if channels > 1 {
			senders[i].pacer.Crowd = crowd
		}
	}
	if p.Rate > 0 {
		measure.PreciseTimers()
	}
	m := &results.Measurement{Loop: results.Open, Hops: 1}
	begun := measure.Now()
	if err := parallel(s, func(i int) error { return senders[i].warmUp(begun) }); err != nil {
		return nil, fmt.Errorf("warm-up: %w", err)
	}
	m.WarmupNs = measure.Now() - begun
	for _, x := range senders {
		m.WarmupOps += x.n
	}
	cpu := newCPUWindow(s.Clocks)
	counters := newCounters()
	s.Measuring()
	runtime.GC()
	start, err := markAll(senders)
	if err != nil {
		return nil, err
	}
	for _, x := range senders {
		x.begin(start)
	}
	gate := make(chan struct{})
	var cpuErr error
	open := func() {
		new(measure.Pacer).Wait(start)
		counters.begin()
		cpuErr = cpu.begin()
		close(gate)
	}
	if channels == 1 {
		open()
	} else {
		go open()
	}
	err = parallel(s, func(i int) error {
		<-gate
		return senders[i].window()
	})
	if err == nil {
		// Each channel has been drained: its receiver has answered that it got everything.
		err = errors.Join(cpuErr, cpu.end())
	}
	if err != nil {
		return nil, err
	}
	m.WindowNs = measure.Now() - start
	seriesOf(m).StartNs = start
	counters.end(m, results.Client)
	s.Done()
	m.CPUNs = cpu.used()
	for _, x := range senders {
		m.Sent += x.n
		m.PacerNs += x.pacer.SpunNs
		seriesOf(m).Sent = x.series.addTo(seriesOf(m).Sent, m.WindowNs)
		if x.lateness != nil {
			if m.Lateness == nil {
				m.Lateness = hist.New()
			}
			m.Lateness.Merge(x.lateness)
		}
	}
	m.RequestBytes = int64(envelope + p.Payload)
	if channels > 1 {
		m.Facts = map[string]string{"channels": strconv.Itoa(channels)}
	}
	return m, nil
}

// markAll tells every receiver when the window starts, and returns that time.
func markAll(senders []*streamSender) (start int64, err error) {
	lead := int64(firstLead)
	for range leadTries {
		// At a whole step of what may count messages on their way.
		start = (measure.Now()+lead)/startStep*startStep + startStep
		for _, x := range senders {
			if err := x.control(kindMark, start); err != nil {
				return 0, err
			}
		}
		if measure.Now() < start {
			return start, nil
		}
		lead *= 2
	}
	return 0, fmt.Errorf("the receiver takes more than %s to answer that the window begins", time.Duration(lead/2))
}

// ownProcessors gives each goroutine that is locked to a thread a processor of the runtime's: one that blocks in a system call
// would else keep it from the others until the runtime takes it away, which takes up to 10 ms.
func ownProcessors(s *Side) {
	if n := len(s.Conns); s.LockThread && n > 1 {
		runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0), n+1))
	}
}

// parallel runs f for each connection, on a goroutine of its own if there are several. It returns with the first error,
// though others may be blocked still: the process has to end then.
func parallel(s *Side, f func(i int) error) error {
	if len(s.Conns) == 1 {
		return f(0)
	}
	ended := make(chan error, len(s.Conns))
	for i := range s.Conns {
		go func() {
			if s.LockThread {
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
			}
			err := f(i)
			if err != nil {
				err = fmt.Errorf("channel %d: %w", i+1, err)
			}
			ended <- err
		}()
	}
	for range s.Conns {
		if err := <-ended; err != nil {
			return err
		}
	}
	return nil
}

func dataRateServer(s *Side) (*results.Measurement, error) {
	if err := oneWayClock(); err != nil {
		return nil, err
	}
	ownProcessors(s)
	counters := newCounters()
	rss, err := measure.NewRSSReader()
	if err != nil {
		return nil, err
	}
	defer rss.Close()
	receivers := make([]*streamReceiver, len(s.Conns))
	for i := range receivers {
		receivers[i] = newStreamReceiver(s, i)
	}
	receivers[0].marked = func() {
		runtime.GC() // before the window, not in it
		counters.begin()
	}
	receivers[0].rss = rss
	if err := parallel(s, func(i int) error { return receivers[i].run() }); err != nil {
		return nil, err
	}
	m := &results.Measurement{Thirds: make([]int64, 3), WindowNs: planned(s.Params)}
	counters.end(m, results.Server)
	for _, x := range receivers {
		m.WindowNs = max(m.WindowNs, x.last-x.start)
	}
	for _, x := range receivers {
		x.fill(m)
	}
	m.PayloadBytes = m.Received * int64(s.Params.Payload)
	return m, nil
}

// planned is how long a window is at least, in ns: of a schedule, a whole number of intervals; at max, as long as was asked for, so
// that a stall at its end counts. It is 0 for a count at max, where the last message received ends it.
func planned(p Params) int64 {
	switch {
	case p.Rate == 0 && p.Count > 0:
		return 0
	case p.Rate == 0:
		return int64(p.Window)
	}
	return measure.Schedule{Rate: int64(p.Rate)}.At(messagesDue(p))
}

// messagesDue is how many messages a window of a schedule has, in all channels. In whole numbers: each language rounds others
// in its own way, and both sides must know the same.
func messagesDue(p Params) int64 {
	if p.Count > 0 {
		return p.Count
	}
	rate := int64(p.Rate)
	return max(int64(p.Window/time.Second)*rate+int64(p.Window%time.Second)*rate/int64(time.Second), 1)
}
