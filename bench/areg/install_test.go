package areg

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"msgbench/results"
)

func program(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\necho Usage: [-n]\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}

func TestFind(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("its programs are started on Linux only")
	}
	dir := t.TempDir()
	want := func(dir, text string) {
		t.Helper()
		if _, err := Find(dir); err == nil || !strings.Contains(err.Error(), text) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want %s", err, text)
		}
	}
	want(filepath.Join(dir, "no"), "no such file")
	want(dir, "has all of mtrouter, 30_pubprovider and 30_pubconsumer")
	bin := filepath.Join(dir, "product", "build", "gnu-c++", "linux-64", "bin")
	program(t, filepath.Join(bin, "mtrouter.elf"))
	program(t, filepath.Join(bin, "30_pubprovider.elf"))
	want(dir, "has all of")
	program(t, filepath.Join(bin, "30_pubconsumer.elf"))
	for _, d := range []string{dir, bin} {
		i, err := Find(d)
		if err != nil || i.Dir != bin || !strings.HasPrefix(i.Version, "sha256:") {
			t.Errorf("%+v, %v", i, err)
		}
	}
	cache := "# a comment\nCMAKE_PROJECT_VERSION:STATIC=2.0.0\nCMAKE_BUILD_TYPE:STRING=Debug\nAREG_LOGGING:BOOL=ON\n"
	if err := os.WriteFile(filepath.Join(dir, "product", "CMakeCache.txt"), []byte(cache), 0o644); err != nil {
		t.Fatal(err)
	}
	i, err := Find(dir)
	if err != nil || i.Version != "2.0.0 Debug with logging" {
		t.Errorf("%+v, %v", i, err)
	}
	if err := i.Probe(t.Context()); err == nil || !strings.Contains(err.Error(), "too old to run headless") ||
		!strings.Contains(err.Error(), "its usage has no --headless") {
		t.Errorf("an old provider: %v", err)
	}
	for _, p := range []string{"mtrouter", "30_pubprovider", "30_pubconsumer"} {
		program(t, filepath.Join(dir, "other", p))
	}
	want(dir, "has several builds")
	if err := os.Chmod(filepath.Join(dir, "other", "mtrouter"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Find(dir); err != nil {
		t.Errorf("a folder with a program that can't be started counts: %v", err)
	}
}

// TestConfigure: the build's own settings stay, but for the router's place and the logs.
func TestConfigure(t *testing.T) {
	own := "# router::*::port::tcpip = 1\nrouter::*::address::tcpip = example.org\nrouter::*::port::tcpip\t= 8181 # default\n" +
		"logger::*::port::tcpip = 8282\nnet::*::tcpip::sndbuf = 8192\nlog::*::enable = true\nlog::mtrouter::enable::remote = true\nbroken line\n"
	got := string(configure([]byte(own), 4321))
	for _, line := range []string{"router::*::port::tcpip = 4321", "router::*::address::tcpip = 127.0.0.1", "logger::*::port::tcpip = 8282",
		"net::*::tcpip::sndbuf = 8192", "log::*::enable = false", "log::*::enable::remote = false", "broken line", "# router::*::port::tcpip = 1"} {
		if strings.Count("\n"+got, "\n"+line+"\n") != 1 {
			t.Errorf("%q is not there once:\n%s", line, got)
		}
	}
	for _, text := range []string{"8181", "example.org", "= true"} {
		if strings.Contains(got, text) {
			t.Errorf("%q is still there:\n%s", text, got)
		}
	}
	if got := string(configure(nil, 1)); !strings.Contains(got, "router::*::connect = tcpip\n") || !strings.Contains(got, "router::*::port::tcpip = 1\n") {
		t.Errorf("without settings of the build:\n%s", got)
	}
}

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		cell results.Cell
		want string
	}{
		{cell("ping-pong", 64), ""},
		{results.Cell{Scenario: "broadcast", Dims: map[string]string{"mode": "pull"}, Defaults: map[string]string{"subscribers": "1"}}, ""},
		{results.Cell{Scenario: "broadcast", Dims: map[string]string{"mode": "pull", "subscribers": "2"}}, "has 1, not 2"},
		{results.Cell{Scenario: "broadcast", Defaults: map[string]string{"mode": "flood"}}, "has pull only, not flood"},
		{results.Cell{Scenario: "ping-pong", Rate: 1000}, "runs at max only"},
		{results.Cell{Scenario: "batch"}, "it has ping-pong and broadcast only"},
	} {
		err := Transport{}.Check(c.cell)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.cell, err, c.want)
		}
	}
}

func TestMode(t *testing.T) {
	if m := Mode(cell("ping-pong", 65536)) + Mode(cell("broadcast", 0)); m != "pp65536bc0" {
		t.Error(m)
	}
}
