// Package aregtest stands in for areg-sdk in tests: programs that take the flags, read the settings and write the files that
// areg-sdk documents, through a router of their own, and that misbehave when they are asked to. No code is areg-sdk's.
package aregtest

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
)

// FaultVar is the environment variable that names a fault, one of those below; empty: none.
const FaultVar = "AREGTEST_FAULT"

// Faults are the ways to misbehave.
var Faults = []string{"old", "nofile", "header", "negative", "cut", "exit2", "hang", "provider", "router", "lost", "twice", "overlap",
	"mode", "count", "silent", "deaf", "short"}

func fault(name string) bool { return os.Getenv(FaultVar) == name }

// PauseVar, set to a duration, is how long the consumer sleeps between operations; GridVar, set to a number of ns, is what its
// stamps are rounded to.
const (
	PauseVar = "AREGTEST_PAUSE"
	GridVar  = "AREGTEST_GRID"
)

var programs = map[string]func(args []string) error{
	"mtrouter": router, "30_pubprovider": provider, "30_pubconsumer": consumer,
}

// Main is the program that path names, if it is one of the stand-ins; it ends the process. Call it first in TestMain.
func Main(path string, args []string) {
	run, ok := programs[strings.TrimSuffix(filepath.Base(path), ".elf")]
	if !ok {
		return
	}
	err := run(args)
	var code exitCode
	switch {
	case errors.As(err, &code):
		os.Exit(int(code))
	case err != nil:
		fmt.Println("ERROR:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

type exitCode int

func (c exitCode) Error() string { return fmt.Sprintf("exit status %d", int(c)) }

// Install makes a folder that looks like a built areg-sdk: dir/bin holds the program exe under the three names, and the settings.
func Install(dir, exe string) error {
	bin := filepath.Join(dir, "bin")
	if err := os.MkdirAll(filepath.Join(bin, "config"), 0o755); err != nil {
		return err
	}
	for name := range programs {
		to := filepath.Join(bin, name+".elf")
		if os.Link(exe, to) == nil {
			continue
		}
		data, err := os.ReadFile(exe)
		if err != nil {
			return err
		}
		if err := os.WriteFile(to, data, 0o755); err != nil {
			return err
		}
	}
	const cache = "CMAKE_PROJECT_VERSION:STATIC=0.0.1\nCMAKE_BUILD_TYPE:STRING=Release\nAREG_LOGGING:BOOL=OFF\n"
	const settings = "# settings of the stand-in\nrouter::*::address::tcpip = localhost\nrouter::*::port::tcpip\t= 8181 # as everybody's\n"
	return errors.Join(os.WriteFile(filepath.Join(dir, "CMakeCache.txt"), []byte(cache), 0o644),
		os.WriteFile(filepath.Join(bin, "config", "areg.init"), []byte(settings), 0o644))
}

// address reads where the router is, from the settings beside the program.
func address() (string, error) {
	exe, err := os.Executable()
	if err != nil {
		return "", err
	}
	if err := os.Chdir(filepath.Dir(exe)); err != nil {
		return "", err
	}
	data, err := os.ReadFile("config/areg.init")
	if err != nil {
		return "", err
	}
	host, port := "localhost", "8181"
	for l := range strings.Lines(string(data)) {
		l, _, _ = strings.Cut(l, "#")
		key, value, _ := strings.Cut(l, "=")
		switch strings.TrimSpace(key) {
		case "router::*::address::tcpip":
			host = strings.TrimSpace(value)
		case "router::*::port::tcpip":
			port = strings.TrimSpace(value)
		}
	}
	return net.JoinHostPort(host, port), nil
}

const (
	request = 'R'
	quit    = 'Q'
)
