package floors

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

func TestConfirm(t *testing.T) {
	steady := func(n int64) []int64 { return []int64{n, n, n, n, n} }
	first := check(t, load(t, pp("shm", 8, 0, steady(500)...), pp("tcp", 8, 0, steady(100)...), pp("uds", 8, 0, steady(100)...)), `floors:
  - {name: broken, match: {transport: [shm, uds]}, metric: throughput, min: 200}
  - {name: five times, match: {transport: shm}, relative_to: {transport: tcp}, metric: throughput, min: 6}
  - {name: kept, match: {transport: shm}, metric: throughput, min: 450}
  - {name: not again, match: {transport: shm}, relative_to: {transport: uds}, metric: throughput, min: 1}
`)
	keys := first.Broken()
	if !slices.Equal(keys, []string{"ping-pong/uds/go-go/8B/max", "ping-pong/shm/go-go/8B/max", "ping-pong/tcp/go-go/8B/max"}) {
		t.Fatalf("%q", keys)
	}
	// Both ways: uds and the ratio are good now, shm alone is broken now.
	rerun := load(t, pp("uds", 8, 0, steady(300)...), pp("shm", 8, 0, steady(400)...), pp("tcp", 8, 0, steady(50)...))
	rerun.Path = "again"
	r, err := Confirm(first, rerun)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i, f := range r.Floors {
		got = append(got, first.Floors[i].Outcome+" "+f.Outcome)
	}
	if !slices.Equal(got, []string{"fail pass", "fail pass", "pass fail", "pass pass"}) {
		t.Errorf("%q", got)
	}
	text := asText(r)
	for _, want := range []string{
		"  pass          ping-pong/uds/go-go/8B/max: 300/s; in the first run fail: 100/s\n",
		"  fail          ping-pong/shm/go-go/8B/max: 400/s; in the first run pass: 500/s\n",
		"cells of broken floors were measured again, which decides: again\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	data, err := asJSON(r)
	if err != nil || !json.Valid(data) || strings.Count(string(data), `"first_run"`) != 5 {
		t.Errorf("%v %s", err, data)
	}

	// A rerun of one of two cells says nothing about their ratio: the rounds are not the same.
	r, err = Confirm(first, load(t, pp("shm", 8, 0, steady(5000)...)))
	if err != nil || r.Floors[1].Outcome != Fail || r.Floors[1].Cells[0].First != nil || r.Floors[0].Outcome != Fail || r.Floors[2].Outcome != Pass {
		t.Errorf("%v\n%s", err, asText(r))
	}
}
