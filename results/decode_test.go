package results

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"msgbench/results/hist"
)

// lines are samples as Append writes them, and others that try to mislead decode.
func decodeLines(t testing.TB) [][]byte {
	h := func(ns ...int64) *hist.Hist {
		h := hist.New()
		for _, v := range ns {
			h.Record(v)
		}
		return h
	}
	m := Measurement{Loop: Paced, WindowNs: 5, Ops: 3, Latency: h(100, 200, 2e9), Service: h(50), Lateness: h(1, 70e9)}
	only := m
	only.Service, only.Lateness = nil, nil
	path := filepath.Join(t.TempDir(), JournalFile)
	j, err := OpenJournal(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []Sample{
		{Cell: "a", Outcome: OK, Measurement: &m},
		{Cell: "a", Outcome: OK, Measurement: &only},
		{Cell: "a", Outcome: OK, Measurement: &Measurement{WindowNs: 1, Ops: 1, Facts: map[string]string{"x": `,"latency_hist":{"min":1]]}`}}},
		{Cell: "a", Outcome: Failed, Reason: `,"latency_hist":{"min":1,"max":1,"sum":1,"values":[[1,1]]}`},
	} {
		if err := j.Append(s); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimSpace(data), []byte("\n"))
	text := string(lines[0])
	for _, r := range [][2]string{
		{`"latency_hist":{`, `"latency_hist" : {`},
		{`"latency_hist":{`, `"latency_hist":{"extra":[[1,1]],`},
		{`"service_hist":`, `"latency_hist":`},
		{`,"latency_hist":`, `,"x":{"y":1,"latency_hist":{"min":1,"max":1,"sum":1,"values":[[1,1]]}},"latency_hist":`},
		{`,"latency_hist":`, `,"x":{"y":1,"latency_hist":{"min":1,"max":1,"sum":1,"values":[[1,1]]}},"other":`},
		{`,"service_hist":`, `,"Latency_hist":{"min":7,"max":8,"sum":15,"values":[[7,1],[8,1]]},"service_hist":`},
		{`[2000`, `[3000`},
		{`"sum":`, `"sum":"1","s":`},
		{`]]}`, `]]`},
		{`]]}`, `]]}}`},
		{`"measurement":`, `"measured":`},
		{`"latency_hist":{`, `"latency_hist":null,"z":{`},
	} {
		lines = append(lines, []byte(strings.Replace(text, r[0], r[1], 1)))
	}
	return lines
}

func TestDecode(t *testing.T) {
	for _, line := range decodeLines(t) {
		sameDecoded(t, line)
	}
}

func FuzzDecode(f *testing.F) {
	for _, line := range decodeLines(f) {
		f.Add(line)
	}
	f.Fuzz(sameDecoded)
}

func sameDecoded(t *testing.T, line []byte) {
	t.Helper()
	var want Sample
	wantErr := json.Unmarshal(line, &want)
	var used spare
	for i := range used {
		if err := used[i].Read([]byte(`{"min":3,"max":9,"sum":20,"values":[[3,1],[8,1],[9,1]]}`)); err != nil {
			t.Fatal(err)
		}
	}
	for _, use := range []*spare{nil, &used, &used} {
		var got Sample
		err := decode(line, &got, use)
		if (err == nil) != (wantErr == nil) || err == nil && !reflect.DeepEqual(got, want) {
			t.Errorf("%s\n%+v %v\nwant %+v %v", line, got.Measurement, err, want.Measurement, wantErr)
		}
	}
}
