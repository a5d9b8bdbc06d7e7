package protocol

import (
	"reflect"
	"testing"
	"time"
)

// TestWords: what the runner says on a command line is what a worker reads there.
func TestWords(t *testing.T) {
	least := Args{Role: "client", Scenario: "lookup", Transport: "-", Payload: -1, Duration: time.Second, Dims: map[string]string{}}
	with := func(change func(*Args)) Args { a := least; change(&a); return a }
	for _, a := range []Args{
		least,
		with(func(a *Args) { a.Payload, a.Rate, a.Count = 0, 1000, 7 }),
		with(func(a *Args) { a.Warmup, a.WarmupOps, a.WarmupMax = 1, 2, 3 }),
		with(func(a *Args) {
			a.Dir, a.Ports, a.Endpoints, a.Broker = "/tmp/x", []int{1, 2}, []string{"a=b", "c"}, "d"
		}),
		with(func(a *Args) { a.Listen, a.Lifetime = "10.0.0.2", time.Minute }), // on any CPU
		with(func(a *Args) { a.Listen, a.CPUs, a.Lifetime = "10.0.0.2", []int{0, 1, 2, 7}, time.Minute }),
		with(func(a *Args) {
			a.Profile, a.Mlock, a.Dims = "/tmp/p", true, map[string]string{"wait": "spin", "gc": "off"}
		}),
	} {
		got, err := ParseArgs(a.Words())
		if err != nil || !reflect.DeepEqual(got, a) {
			t.Errorf("%q: %+v, %v\nwant %+v", a.Words(), got, err, a)
		}
	}
}
