package bench

import (
	"context"
	"os/exec"
	"runtime"
	"testing"

	"msgbench/pinning"
	"msgbench/results"
)

// TestInterferenceOfASample has another process burn one of the CPUs of a sample: it is seen. What the sample itself uses is
// not taken for another's, however busy the machine.
func TestInterferenceOfASample(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells")
	}
	w := testWorkers(t)
	w.policy.Warmup, w.policy.MaxRamp = 0, 1000
	w.policy.MaxDuration = results.Duration(400e6)
	cell := results.Cell{Scenario: "ping-pong", Transport: "pipe", Client: "go", Server: "go", Payload: 8, Defaults: map[string]string{"wait": "block"}}
	take := func() results.Sample {
		t.Helper()
		s, err := w.Sample(context.Background(), cell)
		if err != nil || s.Outcome != results.OK {
			t.Fatal(s.Outcome, s.Reason, err)
		}
		i := s.Interference
		if i == nil {
			t.Fatal("no interference")
		}
		var used int64
		for _, ns := range s.Measurement.CPUNs {
			used += ns
		}
		if i.SpanNs < s.Measurement.WindowNs || i.ShareNs%i.SpanNs != 0 || i.SpanNs > s.WallNs {
			t.Errorf("span %d, share %d, window %d, wall %d ns", i.SpanNs, i.ShareNs, s.Measurement.WindowNs, s.WallNs)
		}
		if most := i.SpanNs*int64(len(i.CPUs)) + i.StepNs; used+i.ForeignNs+i.StealNs > most {
			t.Errorf("%d + %d + %d ns were used in %d", used, i.ForeignNs, i.StealNs, most)
		}
		for _, role := range []string{results.Client, results.Server} {
			if i.Minor[role] < 0 || i.Major[role] < 0 || i.Switches[role] < 0 {
				t.Errorf("%s: %+v", role, i)
			}
		}
		return s
	}
	calm := take()

	cpu := calm.Placement[results.Client].Allowed
	burner := exec.Command("sh", "-c", "while :; do :; done")
	sp := pinning.NewSpawner()
	defer sp.Close()
	if err := sp.Start(burner, pinning.Options{CPUs: cpu[:1], KillWithParent: true}); err != nil {
		t.Fatal(err)
	}
	defer func() { burner.Process.Kill(); burner.Wait() }()
	// The client is mostly asleep, so the burner has about half of the CPUs' time; on a busy machine others have it.
	if s := take(); s.Interference.Foreign()+s.Interference.Steal() < 0.2 || !disturbed(s.Interference, 0.05) {
		t.Errorf("steal %.2f, foreign %.2f", s.Interference.Steal(), s.Interference.Foreign())
	}
}
