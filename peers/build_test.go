package peers

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// builtC is the C peer in a cache of its own; without a compiler the test is skipped, unless all is to be there.
func builtC(t *testing.T, o Options) Result {
	t.Helper()
	p, _ := Find("c")
	r := Build(context.Background(), p, o)
	if r.State == Missing {
		if os.Getenv("MSGBENCH_NEED_PEERS") != "" {
			t.Fatal(r.Reason)
		}
		t.Skip(r.Reason)
	}
	return r
}

func TestBuildCaches(t *testing.T) {
	o := Options{Dir: t.TempDir()}
	p, _ := Find("c")
	if r := Look(context.Background(), p, o); r.State == Ready && r.Path != "" {
		t.Errorf("before it is built: %+v", r)
	}
	first := builtC(t, o)
	if first.State != Built || first.Path == "" {
		t.Fatalf("%s %s\n%s", first.State, first.Reason, first.Output)
	}
	if again := builtC(t, o); again.State != Cached || again.Path != first.Path {
		t.Errorf("again: %s %s, want cached %s", again.State, again.Path, first.Path)
	}
	if left, _ := filepath.Glob(filepath.Join(o.Dir, "build-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	// Other flags, another program; and one that does not start is built anew.
	if s := builtC(t, Options{Dir: o.Dir, Sanitize: true}); s.State != Built || s.Path == first.Path {
		t.Errorf("sanitized: %s %s", s.State, s.Path)
	}
	if err := os.WriteFile(first.Path, []byte("rubbish"), 0o755); err != nil {
		t.Fatal(err)
	}
	if r := builtC(t, o); r.State != Built {
		t.Errorf("a program that does not start: %s, want built", r.State)
	}
}

// TestRacingBuilds has two runs build the same peer at once.
func TestRacingBuilds(t *testing.T) {
	o := Options{Dir: t.TempDir()}
	p, _ := Find("c")
	done := make(chan Result, 2)
	for range 2 {
		go func() { done <- Build(context.Background(), p, o) }()
	}
	for range 2 {
		if r := <-done; r.State == Failed {
			t.Errorf("%s\n%s", r.Reason, r.Output)
		}
	}
}

func TestMissing(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("peers are built on Linux")
	}
	p, _ := Find("libzmq")
	if cc, err := exec.LookPath("cc"); err == nil && cc != "" {
		broken := p
		broken.build.library = &library{name: "libnosuch", header: "nosuch.h", pkg: "nosuch", link: "-lnosuch", debian: "libnosuch-dev", symbols: "nosuch()"}
		r := Build(context.Background(), broken, Options{Dir: t.TempDir()})
		if r.State != Missing || r.Reason != "peer libzmq: libnosuch not found (Debian package libnosuch-dev)" {
			t.Errorf("%s %q", r.State, r.Reason)
		}
	}
	t.Setenv("PATH", t.TempDir())
	t.Setenv("CC", "")
	for name, want := range map[string]string{
		"libzmq": "peer libzmq: cc not found (Debian packages gcc, libc6-dev)",
		"rust":   "peer rust: rustc not found (Debian package rustc)",
	} {
		p, _ := Find(name)
		if r := Build(context.Background(), p, Options{Dir: t.TempDir()}); r.State != Missing || r.Reason != want {
			t.Errorf("%s %q, want missing %q", r.State, r.Reason, want)
		}
	}
}

// TestFailed has a compiler that knows its version and nothing else.
func TestFailed(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("peers are built on Linux")
	}
	cc := filepath.Join(t.TempDir(), "badcc")
	text := "#!/bin/sh\n[ \"$1\" = --version ] && exit 0\necho 'leave.c:1: warning: hm' >&2\necho 'leave.c:2: error: no such thing' >&2\nexit 1\n"
	if err := os.WriteFile(cc, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CC", cc)
	p, _ := Find("c")
	dir := t.TempDir()
	r := Build(context.Background(), p, Options{Dir: dir})
	if r.State != Failed || !strings.HasSuffix(r.Reason, "badcc fails: leave.c:2: error: no such thing") || !strings.Contains(r.Output, "warning: hm") {
		t.Errorf("%s %q %q", r.State, r.Reason, r.Output)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left behind: %s", left[0].Name())
	}
}
