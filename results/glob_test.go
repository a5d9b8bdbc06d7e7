package results

import "testing"

func TestGlobs(t *testing.T) {
	for _, c := range []struct {
		glob, s string
		want    bool
	}{
		{"*", "", true}, {"*", "a/b", true}, {"a*", "a/b", true}, {"*/b", "a/b", true}, {"a/*/c", "a/b/x/c", true},
		{"a?b", "a/b", true}, {"a?b", "ab", false}, {"a*b*c", "aXbYbZc", true}, {"a*b", "abX", false}, {"", "", true},
		{"", "a", false}, {"a", "", false}, {"**", "abc", true}, {"*b", "ab b", true}, {"ping-pong/shm/*", "ping-pong/shm/go-go/8B/max", true},
	} {
		if got := Glob(c.glob, c.s); got != c.want {
			t.Errorf("%q against %q: %v", c.glob, c.s, got)
		}
	}
}
