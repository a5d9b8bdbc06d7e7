package pinning

import (
	"reflect"
	"strings"
	"testing"
)

func TestParseList(t *testing.T) {
	for _, c := range []struct {
		in   string
		want []int
		out  string
	}{
		{"", nil, "none"},
		{"\n", nil, "none"},
		{"0", []int{0}, "0"},
		{"0-3,7\n", []int{0, 1, 2, 3, 7}, "0-3,7"},
		{"7,0-1,1-2", []int{0, 1, 2, 7}, "0-2,7"},
		{"0-1", []int{0, 1}, "0-1"},
		{"5-5", []int{5}, "5"},
		{"1,3,5", []int{1, 3, 5}, "1,3,5"},
		{"1022-1025", []int{1022, 1023, 1024, 1025}, "1022-1025"},
	} {
		got, err := ParseList(c.in)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q: %v, %v; want %v", c.in, got, err, c.want)
		}
		if out := FormatList(got); out != c.out {
			t.Errorf("%q: written %q, want %q", c.in, out, c.out)
		}
	}
}

func TestParseListRefuses(t *testing.T) {
	for _, in := range []string{"x", "-1", "1-", "-", "3-1", "0,,1", "(null)", "0-99999999", "1 2", "0x1", "0-4294967296"} {
		got, err := ParseList(in)
		if err == nil {
			t.Errorf("%q: %v", in, got)
		} else if strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: error of several lines: %v", in, err)
		}
	}
}

func FuzzParseList(f *testing.F) {
	for _, s := range []string{"", "0-3,7", "1,1,1", "65535", "3-1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		cpus, err := ParseList(s)
		if err != nil || len(cpus) == 0 {
			return
		}
		again, err := ParseList(FormatList(cpus))
		if err != nil || !reflect.DeepEqual(again, cpus) {
			t.Errorf("%q: %v, then %v, %v", s, cpus, again, err)
		}
	})
}
