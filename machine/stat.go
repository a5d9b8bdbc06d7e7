package machine

import (
	"context"
	"strconv"
	"strings"
	"time"

	"msgbench/pinning"
)

// Ticks is how a CPU has spent its time since boot, in ticks of the kernel (mostly 10 ms).
type Ticks struct {
	Busy, Idle, Steal int64
	HardIRQ, SoftIRQ  int64 // in interrupts, and in what they leave to be done: parts of Busy
}

// Total is all of it.
func (t Ticks) Total() int64 { return t.Busy + t.Idle + t.Steal }

// Since is what was spent after an earlier reading.
func (t Ticks) Since(earlier Ticks) Ticks {
	return Ticks{Busy: t.Busy - earlier.Busy, Idle: t.Idle - earlier.Idle, Steal: t.Steal - earlier.Steal,
		HardIRQ: t.HardIRQ - earlier.HardIRQ, SoftIRQ: t.SoftIRQ - earlier.SoftIRQ}
}

// ParseStat reads the text of /proc/stat: ticks by CPU. Lines that it does not understand are left out.
func ParseStat(text string) map[int]Ticks {
	out := map[int]Ticks{}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 5 || !strings.HasPrefix(fields[0], "cpu") {
			continue
		}
		id, err := strconv.Atoi(fields[0][len("cpu"):])
		if err != nil {
			continue // the sum of all
		}
		// user nice system idle iowait irq softirq steal; guest time after them is in user already.
		var v [8]int64
		for i := range min(len(fields)-1, len(v)) {
			if v[i], err = strconv.ParseInt(fields[i+1], 10, 64); err != nil {
				break
			}
		}
		if err == nil {
			out[id] = Ticks{Busy: v[0] + v[1] + v[2] + v[5] + v[6], Idle: v[3] + v[4], Steal: v[7], HardIRQ: v[5], SoftIRQ: v[6]}
		}
	}
	return out
}

// spent adds up what some CPUs spent between two readings.
func spent(before, after map[int]Ticks, cpus []int) (sum Ticks) {
	for _, id := range cpus {
		a, okA := after[id]
		b, okB := before[id]
		if !okA || !okB {
			continue
		}
		d := a.Since(b)
		// Idle time may run backwards by a tick.
		sum.Busy += max(d.Busy, 0)
		sum.Idle += max(d.Idle, 0)
		sum.Steal += max(d.Steal, 0)
	}
	return sum
}

// freeShare is what may be taken of a CPU that counts as free.
const freeShare = 0.05

// watch is the shares (0 to 1) of some CPUs' time that were in use and stolen during d, and which of them were free; nil where
// the system does not tell.
func watch(ctx context.Context, r reader, cpus []int, d time.Duration) (busy, steal *float64, free *string) {
	before := ParseStat(r.text("proc/stat"))
	if len(before) == 0 {
		return nil, nil, nil
	}
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
	after := ParseStat(r.text("proc/stat"))
	s := spent(before, after, cpus)
	if s.Total() <= 0 {
		return nil, nil, nil
	}
	b, st := float64(s.Busy)/float64(s.Total()), float64(s.Steal)/float64(s.Total())
	list := pinning.FormatList(freeOf(before, after, cpus))
	return &b, &st, &list
}

// freeOf is those of some CPUs of which less than freeShare was taken between two readings.
func freeOf(before, after map[int]Ticks, cpus []int) (free []int) {
	for _, id := range cpus {
		if s := spent(before, after, []int{id}); s.Total() > 0 && float64(s.Busy+s.Steal) < freeShare*float64(s.Total()) {
			free = append(free, id)
		}
	}
	return free
}
