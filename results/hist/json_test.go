package hist

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestJSON(t *testing.T) {
	for _, c := range []struct {
		name string
		h    *Hist
		want string
	}{
		{"empty", New(), `null`},
		{"three", of(5, 5, 9), `{"min":5,"max":9,"sum":19,"values":[[5,2],[9,1]]}`},
		{"rounded to the lowest of the bucket", of(1_000_001), `{"min":1000001,"max":1000001,"sum":1000001,"values":[[999936,1]]}`},
		{"clamped", of(-3, 8), `{"min":-3,"max":8,"sum":5,"clamped":1,"values":[[1,1],[8,1]]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := json.Marshal(c.h)
			if err != nil || string(got) != c.want {
				t.Fatalf("%s %v, want %s", got, err, c.want)
			}
			again, err := json.Marshal(sparse(t, c.h))
			if err != nil || string(again) != c.want {
				t.Errorf("written again: %s %v, want %s", again, err, c.want)
			}
		})
	}
}

// A peer may round by 0.1 % as it likes, so its buckets may be finer than ours.
func TestJSONOfAPeer(t *testing.T) {
	var h Hist
	if err := json.Unmarshal([]byte(`{"min":1000000,"max":2000000,"sum":6000400,"values":[[1000000,1],[1000100,2],[1000300,1],[2000000,1]]}`), &h); err != nil {
		t.Fatal(err)
	}
	if got := buckets(&h); len(got) != 2 || got[0] != (bucket{999936, 4}) || got[1].count != 1 {
		t.Errorf("buckets %v", got)
	}
}

func TestBadJSON(t *testing.T) {
	for _, c := range []struct{ name, json, want string }{
		{"no object", `7`, "histogram: json: cannot unmarshal number"},
		{"value that is none", `{"values":[["a",1]]}`, "histogram: json: cannot unmarshal string"},
		{"fraction", `{"min":1,"max":1,"sum":1,"values":[[1.5,1]]}`, "histogram: json: cannot unmarshal number 1.5"},
		{"zero value", `{"min":0,"max":1,"sum":1,"values":[[0,1],[1,1]]}`, "histogram: value 0 after 0: want ascending values from 1 to 60000000000 ns"},
		{"negative value", `{"min":-1,"max":1,"sum":1,"values":[[-1,1]]}`, "histogram: value -1 after 0"},
		{"descending", `{"min":1,"max":5,"sum":6,"values":[[5,1],[1,1]]}`, "histogram: value 1 after 5"},
		{"twice", `{"min":5,"max":5,"sum":10,"values":[[5,1],[5,1]]}`, "histogram: value 5 after 5"},
		{"above the range", `{"min":1,"max":60000000001,"sum":60000000001,"values":[[60000000001,1]]}`, "histogram: value 60000000001 after 0"},
		{"no count", `{"min":5,"max":5,"sum":5,"values":[[5]]}`, "histogram: count 0 at 5 ns: want at least 1"},
		{"zero count", `{"min":5,"max":5,"sum":5,"values":[[5,0]]}`, "histogram: count 0 at 5 ns"},
		{"negative count", `{"min":5,"max":5,"sum":5,"values":[[5,-1]]}`, "histogram: count -1 at 5 ns"},
		{"counts that overflow", `{"min":5,"max":6,"sum":5,"values":[[5,1125899906842624],[6,1]]}`,
			"histogram: count 1 at 6 ns: want at least 1, and at most 1125899906842624 in all"},
		{"no values", `{"min":5,"max":9,"sum":14,"counts":[[5,1],[9,1]]}`, "histogram: min 5, max 9 and sum 14 without values"},
		{"no extremes", `{"values":[[5,1]]}`, "histogram: min 0 and max 0, but nothing clamped to 1 to 60000000000"},
		{"min above max", `{"min":9,"max":5,"sum":14,"values":[[5,1],[9,1]]}`, "histogram: min 9 above max 5"},
		{"min above the values", `{"min":8,"max":9,"sum":17,"values":[[5,1],[9,1]]}`, "histogram: min 8, but the lowest value is 5"},
		{"min below the values", `{"min":1,"max":9,"sum":14,"values":[[5,1],[9,1]]}`, "histogram: min 1, but the lowest value is 5"},
		{"max above the values", `{"min":5,"max":90,"sum":14,"values":[[5,1],[9,1]]}`, "histogram: max 90, but the highest value is 9"},
		{"max below the values", `{"min":5,"max":7,"sum":12,"values":[[5,1],[9,1]]}`, "histogram: max 7, but the highest value is 9"},
		{"sum too small", `{"min":5000,"max":9000,"sum":9000,"values":[[5000,1],[9000,1]]}`, "histogram: sum 9000 is not possible for 2 values from 5000 to 9000"},
		{"sum too large", `{"min":5000,"max":9000,"sum":19000,"values":[[5000,1],[9000,1]]}`, "histogram: sum 19000 is not possible"},
		{"sum of other values", `{"min":5000,"max":9000,"sum":16000,"values":[[5000,1],[9000,1]]}`, "histogram: sum 16000, but the values add up to about 14000"},
		{"sum that would overflow",
			`{"min":1,"max":60000000000,"sum":9000000000000000000,"clamped":1,"values":[[1,1],[60000000000,1000000000]]}`,
			"histogram: sum 9000000000000000000 ns: want at most 576460752303423488"},
		{"more clamped than counted", `{"min":5,"max":9,"sum":14,"clamped":3,"values":[[5,1],[9,1]]}`, "histogram: clamped 3 of 2"},
		{"clamped below zero", `{"min":5,"max":9,"sum":14,"clamped":-1,"values":[[5,1],[9,1]]}`, "histogram: clamped -1 of 2"},
		{"clamped, min within the values", `{"min":5,"max":9,"sum":14,"clamped":1,"values":[[1,1],[9,1]]}`, "histogram: min 5, but the lowest value is 1"},
		{"clamped, min above the values",
			`{"min":70000000000,"max":70000000000,"sum":140000000000,"clamped":1,"values":[[9,1],[60000000000,1]]}`,
			"histogram: min 70000000000, but the lowest value is 9"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := of(3)
			err := h.UnmarshalJSON([]byte(c.json))
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("%v\nwant %s…", err, c.want)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %q", err)
			}
			if h.Count() != 1 {
				t.Error("the histogram was changed all the same")
			}
		})
	}
}

// Whatever is accepted can be told, merged and written again, and says the same then.
func FuzzJSON(f *testing.F) {
	f.Add([]byte(`null`))
	f.Add([]byte(`{"min":5,"max":9,"sum":19,"values":[[5,2],[9,1]]}`))
	f.Add([]byte(`{"min":-3,"max":8,"sum":5,"clamped":1,"values":[[1,1],[8,1]]}`))
	f.Add([]byte(`{"min":1000000,"max":2000000,"sum":6000400,"values":[[1000000,1],[1000100,2],[1000300,1],[2000000,1]]}`))
	f.Add([]byte(`{"min":1,"max":60000000000,"sum":60000000001,"values":[[1,1],[60000000000,1]]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var h Hist
		if err := h.UnmarshalJSON(data); err != nil {
			return
		}
		same(t, sparse(t, &h), &h)
		merged := New()
		merged.Merge(&h)
		if h.Count() > 0 {
			same(t, merged, &h)
		}
	})
}

// Recorded values come back with the same counts, and percentiles within 0.1 %.
func FuzzRecorded(f *testing.F) {
	f.Add(uint64(1), 100, 1e3)
	f.Add(uint64(2), 3000, 1e7)
	f.Add(uint64(3), 1, 1e12)
	f.Fuzz(func(t *testing.T, seed uint64, n int, scale float64) {
		if n < 0 || n > 5000 || !(scale > 0 && scale < 1e15) {
			return
		}
		r := rand.New(rand.NewPCG(seed, 0))
		h := New()
		for range n {
			h.Record(int64(r.ExpFloat64() * scale))
		}
		read := sparse(t, h)
		same(t, read, h)
		for _, q := range []float64{0.5, 0.9, 0.99} {
			a, ok1 := h.Quantile(q)
			b, ok2 := read.Quantile(q)
			if ok1 != ok2 || math.Abs(float64(a-b)) > 0.001*math.Abs(float64(a)) {
				t.Errorf("q %v: %d %v, read back %d %v", q, a, ok1, b, ok2)
			}
		}
	})
}
