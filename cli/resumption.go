package cli

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"msgbench/machine"
	"msgbench/results"
)

// The facts of a run that went on.
const (
	resumed = "resumed"
	retried = "retried"
)

// resumption says what is no longer as it was when a run began, and refuses what no row may mix: two kernels, which are
// half of every transport, or two placements. how is howResume or howRetry.
func (c *chosen) resumption(run results.Run, env machine.Environment, how string) (r results.Resumption, err error) {
	now := run // its machines as they are
	now.Boot, now.Installation = machine.Boot(), machine.Installation()
	if c.host != nil {
		now.Server = &c.host.ServerHost
	}
	r = results.Resumption{At: time.Now().UTC().Truncate(time.Second), How: how, Boots: now.Boots()}
	if another(run.Boot, now.Boot, run.Installation, now.Installation) {
		return r, fmt.Errorf("was measured on another machine, of the kind of this one: rows of two machines don't mix")
	}
	if s := run.Server; s != nil && another(s.Boot, now.Server.Boot, s.Installation, now.Server.Installation) {
		return r, fmt.Errorf("was measured with another server, of the kind of %s now: rows of two machines don't mix", s.Name)
	}
	if len(run.Environment) == 0 { // merged from several machines
		return r, nil
	}
	var was machine.Environment
	if err := json.Unmarshal(run.Environment, &was); err != nil {
		return r, fmt.Errorf("%s: environment: %w", results.RunFile, err)
	}
	for _, k := range []struct{ of, was, is string }{
		{"", strings.TrimSpace(was.Kernel + " " + was.KernelBuild), strings.TrimSpace(env.Kernel + " " + env.KernelBuild)},
		{" of the server's host", kernelThere(run), kernelThere(now)},
	} {
		if k.was != k.is {
			return r, fmt.Errorf("was measured under the kernel%s %s, this is %s: rows of two kernels don't mix; boot that one again, or make a new run",
				k.of, orUnknown(k.was), orUnknown(k.is))
		}
	}
	// A merged run has the placement of its first shard only, in words.
	place := results.Table{Facts: run.Facts}.Fact("placement")
	if text := placementText(*c); place != "" && run.Machines == nil && place != text {
		return r, fmt.Errorf("was measured with %s, now it would be %s: rows of two placements don't mix", place, text)
	}
	if was.CPU.Allowed != env.CPU.Allowed {
		return r, fmt.Errorf("was measured on the CPUs %s, now only %s may be used: rows of two placements don't mix",
			orUnknown(was.CPU.Allowed), orUnknown(env.CPU.Allowed))
	}
	r.Changed, err = machine.Changes(run.Environment, env)
	return r, err
}

// another tells whether a machine is surely not the same as before: not booted anew, but of another installation. One that only
// has another installation is the same from within a container.
func another(wasBoot, boot, was, is string) bool {
	return wasBoot != boot && was != "" && is != "" && was != is
}

func kernelThere(run results.Run) string {
	if run.Server == nil {
		return ""
	}
	return run.Server.Kernel
}

// resumptionFact is a resumption in the head of the CSV and of the report.
func resumptionFact(run results.Run, r results.Resumption) results.Fact {
	f := results.Fact{Key: resumed, Value: r.At.Format(time.RFC3339)}
	if r.How == howRetry {
		f.Key = retried
		f.Value += fmt.Sprintf(", %d of %d cells", len(r.Cells), len(run.Cells))
	}
	if r.Boots != lastBoots(run) {
		f.Value += ", after the machine was booted anew"
		if run.Server != nil {
			f.Value += " (one of the two)"
		}
	}
	if len(r.Changed) > 0 {
		f.Value += "; changed since the run began: " + strings.Join(r.Changed, "; ")
	}
	return f
}

// lastBoots is Boots of the machines when the run was last gone on with.
func lastBoots(run results.Run) string {
	if n := len(run.Resumptions); n > 0 {
		return run.Resumptions[n-1].Boots
	}
	return run.Boots()
}

// resume adds a resumption to what is known of a run, and returns its fact, which stands below the date and those of earlier
// ones. The run directory hears of it with the first line that follows.
func resume(run *results.Run, r results.Resumption) results.Fact {
	at := 0
	for i, f := range run.Facts {
		if f.Key == "date" || f.Key == resumed || f.Key == retried {
			at = i + 1
		}
	}
	f := resumptionFact(*run, r)
	run.Facts = slices.Insert(slices.Clone(run.Facts), at, f)
	run.Resumptions = append(slices.Clone(run.Resumptions), r)
	return f
}
