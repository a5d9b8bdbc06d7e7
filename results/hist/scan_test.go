package hist

import (
	"encoding/json"
	"reflect"
	"testing"
)

func TestScan(t *testing.T) {
	for _, tt := range []struct {
		text string
		ok   bool
	}{
		{`{"min":1,"max":20,"sum":21,"values":[[1,1],[20,1]]}`, true},
		{`{"min":-3,"max":20,"sum":17,"clamped":1,"values":[[1,1],[20,1]]}`, true},
		{`{"min":0,"max":0,"sum":0,"values":[]}`, true},
		{`{"min":1,"max":1,"sum":999999999999999999,"values":[[1,999999999999999999]]}`, true},
		{`{"min":1,"max":1,"sum":9999999999999999999,"values":[[1,1]]}`, false}, // more than encoding/json takes
		{`{"min":01,"max":1,"sum":1,"values":[[1,1]]}`, false},
		{`{"min":1.0,"max":1,"sum":1,"values":[[1,1]]}`, false},
		{`{"min":1, "max":1,"sum":1,"values":[[1,1]]}`, false}, // JSON, but of another writer
		{`{"min":1,"max":1,"sum":1,"values":[[1,1],]}`, false},
		{`{"min":1,"max":1,"sum":1,"values":[[1,1]`, false},
		{`{"min":1,"max":1,"sum":1,"values":[[1,1]]}}`, false},
		{`{"min":1,"max":1,"sum":1,"values":[[1]]}`, false},
		{`null`, false},
		{``, false},
	} {
		if _, ok := scan([]byte(tt.text), nil); ok != tt.ok {
			t.Errorf("%s: %v, want %v", tt.text, ok, tt.ok)
		}
	}
}

// What scan takes, encoding/json takes, and both read the same.
func FuzzScan(f *testing.F) {
	f.Add([]byte(`{"min":1,"max":20,"sum":21,"values":[[1,1],[20,1]]}`))
	f.Add([]byte(`{"min":-3,"max":20,"sum":17,"clamped":1,"values":[[1,1],[20,1]]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		w, ok := scan(data, nil)
		if !ok {
			return
		}
		var want wire
		if err := json.Unmarshal(data, &want); err != nil || !reflect.DeepEqual(w, want) {
			t.Errorf("%s: %+v, want %+v (%v)", data, w, want, err)
		}
	})
}
