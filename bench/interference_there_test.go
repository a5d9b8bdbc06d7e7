package bench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"msgbench/pinning"
	"msgbench/results"
)

// unseenHost is this machine as a host whose processes the runner can't look at: they tell another PID namespace than its own.
// Where all of them tell the same one, they can look at each other.
func unseenHost(t *testing.T, space string) *Host {
	t.Setenv("SERVER", os.Args[0])
	return loopbackHost(t, hostScript(t, `"$SERVER" "$@" | sed -u 's/"space":"[^"]*"/"space":"'`+space+`'"/'`)...)
}

// TestInterferenceThere has another process burn the CPU of a server that only its own host can see.
func TestInterferenceThere(t *testing.T) {
	w := testWorkers(t)
	if runtime.GOOS != "linux" || len(w.topology.Allowed) < 2 {
		t.Skip("only Linux tells, and each side needs a CPU")
	}
	w.ServeOn(unseenHost(t, "elsewhere"))
	w.policy.MaxDuration = results.Duration(400 * time.Millisecond)
	pin := func(plan string) {
		t.Helper()
		var err error
		if w.plan, err = pinning.Parse(plan); err != nil {
			t.Fatal(err)
		}
	}
	cpus := w.topology.Allowed
	pin(fmt.Sprintf("client=%d,server=%d,broker=%d", cpus[0], cpus[1], cpus[1]))
	take := func(transport string) *results.Interference {
		t.Helper()
		s, err := w.Sample(context.Background(), twoHostCell(transport))
		if err != nil || s.Outcome == results.Failed {
			t.Fatal(s.Outcome, s.Reason, s.Stderr, err)
		}
		return s.Interference
	}
	for _, transport := range []string{"tcp", "broker"} {
		i := take(transport)
		if i == nil || len(i.CPUs) == 0 || len(i.ServerCPUs) == 0 {
			t.Fatalf("%s: %+v", transport, i)
		}
		if err := i.Check(); err != nil {
			t.Error(err)
		}
		roles := []string{results.Client, results.Server}
		if transport == "broker" {
			roles = append(roles, results.Broker)
		}
		for _, role := range roles {
			if _, ok := i.Switches[role]; !ok {
				t.Errorf("%s: no switches of the %s: %+v", transport, role, i)
			}
		}
	}
	i := take("tcp")
	burner := exec.Command("sh", "-c", "while :; do :; done")
	sp := pinning.NewSpawner()
	defer sp.Close()
	if err := sp.Start(burner, pinning.Options{CPUs: i.ServerCPUs[:1], KillWithParent: true}); err != nil {
		t.Fatal(err)
	}
	defer func() { burner.Process.Kill(); burner.Wait() }()
	// The server is mostly asleep: the burner has more than half of one of the two CPUs. On a busy machine others have it.
	if i := take("tcp"); i.Foreign()+i.Steal() < 0.2 || !disturbed(i, 0.05) {
		t.Errorf("steal %.2f, foreign %.2f", i.Steal(), i.Foreign())
	}
	// Of a server that can't see the broker beside it nothing is taken.
	w.host = unseenHost(t, "$$")
	if i := take("broker"); i == nil || len(i.CPUs) == 0 || len(i.ServerCPUs) > 0 {
		t.Errorf("in PID namespaces of their own: %+v", i)
	}
	w.host = unseenHost(t, "elsewhere")
	pin("none")
	if i := take("tcp"); i != nil {
		t.Errorf("two sides that share their CPUs took each other for somebody else: %+v", i)
	}
}

func TestSeenThere(t *testing.T) {
	here := func() *results.Interference {
		return &results.Interference{SpanNs: 100, CPUs: []int{0}, ShareNs: 100, StealNs: 1, ForeignNs: 2, StepNs: 3, Switches: map[string]int64{"client": 5}, KHz: []int64{9}}
	}
	there := func(change func(*results.Interference)) *results.Interference {
		i := &results.Interference{SpanNs: 110, CPUs: []int{0, 4}, ShareNs: 110, StealNs: 10, ForeignNs: 20, StepNs: 30, Switches: map[string]int64{"server": 50, "broker": 7}}
		if change != nil {
			change(i)
		}
		return i
	}
	for _, c := range []struct {
		name        string
		here, there *results.Interference
		same        bool // machine
		want        *results.Interference
		err         string
	}{
		{"a host that does not tell", here(), nil, false, here(), ""},
		{"both", here(), there(nil), false, &results.Interference{SpanNs: 100, CPUs: []int{0}, ServerCPUs: []int{0, 4}, ShareNs: 210, StealNs: 11, ForeignNs: 22, StepNs: 33,
			Switches: map[string]int64{"client": 5, "server": 50, "broker": 7}, Migrations: map[string]int64{}, Minor: map[string]int64{}, Major: map[string]int64{}, KHz: []int64{9}}, ""},
		{"one machine, the same CPUs", here(), there(nil), true, nil, ""},
		{"one machine, other CPUs", here(), there(func(i *results.Interference) { i.CPUs, i.Switches = []int{1}, nil }), true,
			&results.Interference{SpanNs: 100, CPUs: []int{0}, ServerCPUs: []int{1}, ShareNs: 210, StealNs: 11, ForeignNs: 22, StepNs: 33,
				Switches: map[string]int64{"client": 5}, Migrations: map[string]int64{}, Minor: map[string]int64{}, Major: map[string]int64{}, KHz: []int64{9}}, ""},
		{"only there", nil, there(func(i *results.Interference) { i.Switches = nil }), false, &results.Interference{SpanNs: 110, ServerCPUs: []int{0, 4}, ShareNs: 110,
			StealNs: 10, ForeignNs: 20, StepNs: 30, Switches: map[string]int64{}, Migrations: map[string]int64{}, Minor: map[string]int64{}, Major: map[string]int64{}}, ""},
		{"below 0", here(), there(func(i *results.Interference) { i.StealNs = -1 }), false, nil, "below 0"},
		{"too long", here(), there(func(i *results.Interference) { i.SpanNs = int64(time.Hour) }), false, nil, "it watched its host for 1h0m0s"},
		{"of the client", here(), there(func(i *results.Interference) { i.Major = map[string]int64{"client": 1} }), false, nil, "counts for the client"},
	} {
		e := &execution{w: &Workers{limits: defaultLimits}, sample: &results.Sample{Interference: c.here}}
		err := e.seenThere(c.there, c.same, time.Second)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v, want %q", c.name, err, c.err)
			}
			continue
		}
		if err != nil || !reflect.DeepEqual(e.sample.Interference, c.want) {
			t.Errorf("%s: %+v, %v\nwant %+v", c.name, e.sample.Interference, err, c.want)
		}
	}
}
