package machine

import (
	"encoding/json"
	"slices"
	"testing"
)

func TestChanges(t *testing.T) {
	busy, idle := 0.9, 0.1
	was := Environment{OS: "linux", Mitigations: []string{"spectre_v2", "mds"}, Load: []float64{1, 2, 3}, Busy: &busy,
		CPU: CPU{Governor: "powersave", Turbo: "on"}, Clock: Clock{Source: "tsc", CostNs: 20}, Memory: Memory{Total: 8, Available: 4}}
	kept, err := json.Marshal(was)
	if err != nil {
		t.Fatal(err)
	}
	now := was
	now.Load, now.Busy, now.Clock.CostNs, now.Memory.Available = nil, &idle, 31, 2
	if got, err := Changes(kept, now); err != nil || len(got) != 0 {
		t.Errorf("what differs at any time: %q, %v", got, err)
	}
	now.CPU.Governor, now.CPU.Turbo, now.Clock.Source, now.Mitigations, now.GoEnv = "performance", "", "hpet", nil, map[string]string{"GOGC": "50"}
	got, err := Changes(kept, now)
	want := []string{"clock.source: tsc → hpet", "cpu.governor: powersave → performance", "cpu.turbo: on → not known",
		"go_env.GOGC: not known → 50", "mitigations: spectre_v2 mds → not known"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v\nwant %q", got, err, want)
	}
	if _, err := Changes([]byte("{"), now); err == nil {
		t.Error("half of an environment was read")
	}
}
