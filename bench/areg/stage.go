package areg

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Stage is the programs in a folder of our own. They change to the folder that they lie in and read
// config/areg.init there, which is the only way to tell all three the port of the router; symbolic links would lead them back.
type Stage struct {
	Install
	dir    string
	config []byte // of the build; empty where it has none
}

const configFile = "config/areg.init"

// samplesFile is relative to the folder of the programs; a path with a space in it would be two words to the consumer.
const samplesFile = "samples.csv"

// NewStage links or copies the programs into dir, which it makes.
func NewStage(i Install, dir string) (*Stage, error) {
	if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(configFile)), 0o700); err != nil {
		return nil, err
	}
	s := &Stage{Install: i, dir: dir}
	for _, name := range i.programs() {
		to, from := filepath.Join(dir, name), filepath.Join(i.Dir, name)
		if os.Link(from, to) == nil { // to another file system, or to a file of somebody else, it can't
			continue
		}
		if err := copyProgram(to, from); err != nil {
			return nil, fmt.Errorf("copy of areg-sdk's programs: %w", err)
		}
	}
	var err error
	if s.config, err = os.ReadFile(filepath.Join(i.Dir, configFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return s, nil
}

func copyProgram(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o700)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// Prepare tells the programs the router's port for the next sample, and removes the samples of the last one.
func (s *Stage) Prepare(port int) error {
	if err := os.Remove(s.Samples()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.WriteFile(filepath.Join(s.dir, configFile), configure(s.config, port), 0o600)
}

// Samples is the file that the consumer writes.
func (s *Stage) Samples() string { return filepath.Join(s.dir, samplesFile) }

// Router is the command line of the router, as the system service that draws no console.
func (s *Stage) Router() []string { return []string{s.path(router), "--service"} }

// Provider is the command line of the provider.
func (s *Stage) Provider() []string { return []string{s.path(provider), "-n"} }

// Consumer is the command line of the consumer, which asks the provider to end too. One of window (in ms) and count is 0.
func (s *Stage) Consumer(mode string, warmup, window, count int64) []string {
	length := "-d=" + strconv.FormatInt(window, 10)
	if count > 0 {
		length = "-c=" + strconv.FormatInt(count, 10)
	}
	return []string{s.path(consumer), "-m=" + mode, "-w=" + strconv.FormatInt(warmup, 10), length, "-f=" + samplesFile, "-s"}
}

func (s *Stage) path(program string) string { return filepath.Join(s.dir, program+s.ext) }

// configure is the build's own settings with the router at this port of the loopback interface, and without logs, which
// would be sent to one more process.
func configure(own []byte, port int) []byte {
	set := []struct{ section, property, line string }{
		{"router", "address::tcpip", "router::*::address::tcpip = 127.0.0.1"},
		{"router", "port::tcpip", "router::*::port::tcpip = " + strconv.Itoa(port)},
		{"log", "enable", "log::*::enable = false"},
		{"log", "enable::remote", "log::*::enable::remote = false"},
		{"log", "enable::file", "log::*::enable::file = false"},
	}
	if len(bytes.TrimSpace(own)) == 0 {
		own = []byte("config::*::version = 2.0.0\nservice::*::list = router\nrouter::*::service = mtrouter\n" +
			"router::*::connect = tcpip\nrouter::*::enable::tcpip = true\n")
	}
	var out bytes.Buffer
	for l := range bytes.Lines(own) {
		section, property := split(string(l))
		keep := true
		for _, x := range set {
			keep = keep && (section != x.section || property != x.property)
		}
		if keep {
			out.Write(l)
		}
	}
	out.WriteString("\n")
	for _, x := range set {
		out.WriteString(x.line + "\n")
	}
	return out.Bytes()
}

// split takes "section::module::property… = value" apart; comments have no section.
func split(line string) (section, property string) {
	key, _, ok := strings.Cut(line, "=")
	if parts := strings.SplitN(strings.TrimSpace(key), "::", 3); ok && len(parts) == 3 && !strings.HasPrefix(parts[0], "#") {
		return parts[0], parts[2]
	}
	return "", ""
}
