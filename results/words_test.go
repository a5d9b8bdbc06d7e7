package results

import (
	"encoding/json"
	"testing"
)

func mustJSON(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}

func TestKey(t *testing.T) {
	for _, c := range []struct {
		cell Cell
		want string
	}{
		{Cell{Scenario: "ping-pong", Transport: "shm", Client: "go", Server: "go", Payload: 8}, "ping-pong/shm/go-go/8B/max"},
		{Cell{Scenario: "ping-pong", Transport: "uds", Client: "go", Server: "go", Payload: 64, Rate: 10000, Dims: map[string]string{"wait": "spin"}},
			"ping-pong/uds/go-go/64B/10000/wait=spin"},
		{Cell{Scenario: "lookup", Transport: "-", Client: "go", Server: "go", Payload: NoPayload}, "lookup/-/go-go/-/max"},
		{Cell{Scenario: "ping-pong", Transport: "tcp", Client: "libzmq", Server: "c"}, "ping-pong/tcp/libzmq-c/0B/max"},
		{Cell{Scenario: "s", Transport: "t", Client: "a", Server: "b", Payload: 1, Dims: map[string]string{"wait": "spin", "depth": "4", "gc": "off", "scope": "raw"},
			Defaults: map[string]string{"mode": "cycle"}}, "s/t/a-b/1B/max/depth=4/gc=off/scope=raw/wait=spin"},
	} {
		if got := c.cell.Key(); got != c.want {
			t.Errorf("key %q, want %q", got, c.want)
		}
	}
}

func TestDim(t *testing.T) {
	c := Cell{Dims: map[string]string{"wait": "spin"}, Defaults: map[string]string{"wait": "block", "mode": "cycle"}}
	for name, want := range map[string]string{"wait": "spin", "mode": "cycle", "depth": ""} {
		if got := c.Dim(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

func TestRates(t *testing.T) {
	m := Measurement{WindowNs: 2e9, Ops: 1000, Messages: 10, PayloadBytes: 4e6}
	if m.Throughput() != 500 || m.MessagesPerSecond() != 5 || m.MBPerSecond() != 2 {
		t.Error(m.Throughput(), m.MessagesPerSecond(), m.MBPerSecond())
	}
	if (&Measurement{Ops: 5}).Throughput() != 0 {
		t.Error("an empty window has a throughput")
	}
}

func TestPublishable(t *testing.T) {
	for verdict, want := range map[string]bool{Stable: true, Recovered: true, Oversubscribed: true, Unstable: false, Failed: false,
		Skipped: false, Imported: false, "": false} {
		if Publishable(verdict) != want {
			t.Errorf("%q: %v", verdict, !want)
		}
	}
}
