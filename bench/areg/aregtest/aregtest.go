// Package aregtest stands in for areg-sdk in tests: programs that take the flags, read the settings and write the files that
// areg-sdk documents, through a router of their own, and that misbehave when they are asked to. No code is areg-sdk's.
package aregtest

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"msgbench/measure"
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

// router connects one provider and one consumer, each of which says with its first byte what it is.
func router(args []string) error {
	if strings.Join(args, " ") != "--service" {
		return errors.New("usage: mtrouter --service")
	}
	a, err := address()
	if err != nil {
		return err
	}
	if fault("deaf") {
		time.Sleep(time.Hour)
	}
	l, err := net.Listen("tcp", a)
	if err != nil {
		return err
	}
	ends := map[byte]net.Conn{}
	for len(ends) < 2 {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		var kind [1]byte
		if _, err := io.ReadFull(c, kind[:]); err != nil {
			return err
		}
		ends[kind[0]] = c
	}
	go func() {
		io.Copy(ends['P'], ends['C'])
		ends['P'].Close()
	}()
	if fault("router") {
		time.AfterFunc(50*time.Millisecond, func() { os.Exit(7) })
	}
	_, err = io.Copy(ends['C'], ends['P'])
	ends['C'].Close()
	time.Sleep(time.Hour) // it serves until it is told to end
	return err
}

// join connects to the router.
func join(kind byte) (net.Conn, error) {
	a, err := address()
	if err != nil {
		return nil, err
	}
	for try := 0; ; try++ {
		c, err := net.Dial("tcp", a)
		if err == nil {
			_, err = c.Write([]byte{kind})
			return c, err
		}
		if try == 100 {
			return nil, err
		}
		time.Sleep(50 * time.Millisecond)
	}
}

const usage = `Usage: 30_pubprovider [-n]
  -n, --headless   without a console`

// provider answers each request with its time.
func provider(args []string) error {
	flag := strings.Join(args, " ")
	switch {
	case fault("old"):
		time.Sleep(time.Hour) // it knows no flags and draws its console
	case flag == "-h":
		fmt.Println(usage)
		return nil
	case flag != "-n":
		fmt.Println(usage)
		return exitCode(1)
	}
	c, err := join('P')
	if err != nil {
		return err
	}
	fmt.Println("waiting for the consumer")
	for n := 0; ; n++ {
		var request [1]byte
		if _, err := io.ReadFull(c, request[:]); err != nil {
			time.Sleep(time.Hour) // it serves whoever comes next
		}
		if request[0] == quit {
			return nil
		}
		if fault("provider") && n == 100 {
			return exitCode(9)
		}
		var stamp [8]byte
		binary.LittleEndian.PutUint64(stamp[:], uint64(measure.Now()))
		if _, err := c.Write(stamp[:]); err != nil {
			return err
		}
	}
}

const (
	request = 'R'
	quit    = 'Q'
)

// setup is what the consumer's flags say.
type setup struct {
	mode          string
	warmup, count int64
	window        time.Duration
	file          string
	start         bool
}

func parse(args []string) (s setup, err error) {
	for _, a := range args {
		name, value, _ := strings.Cut(a, "=")
		switch name {
		case "-m":
			s.mode = value
		case "-w":
			s.warmup, err = strconv.ParseInt(value, 10, 64)
		case "-c":
			s.count, err = strconv.ParseInt(value, 10, 64)
		case "-d":
			var ms int64
			ms, err = strconv.ParseInt(value, 10, 64)
			s.window = time.Duration(ms) * time.Millisecond
		case "-f":
			s.file = value
		case "-s":
			s.start = true
		default:
			err = errors.New("unknown flag " + a)
		}
		if err != nil {
			return s, err
		}
	}
	size, err := strconv.Atoi(s.mode[min(2, len(s.mode)):])
	if err != nil || size < 0 || !strings.HasPrefix(s.mode, "pp") && !strings.HasPrefix(s.mode, "bc") || !s.start || (s.count > 0) == (s.window > 0) {
		return s, fmt.Errorf("unknown command or bad value in %q", args)
	}
	return s, nil
}

// consumer runs one window and writes its samples.
func consumer(args []string) error {
	s, err := parse(args)
	if err != nil {
		fmt.Println("ERROR:", err)
		return exitCode(2)
	}
	c, err := join('C')
	if err != nil || fault("exit2") {
		fmt.Println("ERROR: the service provider did not become reachable within 30 seconds.")
		return exitCode(2)
	}
	if fault("hang") {
		time.Sleep(time.Hour)
	}
	w := &window{setup: s, conn: c}
	if err := w.run(); err != nil {
		return nil // as the real one, which ends with 0 when it loses the others
	}
	if !fault("silent") {
		fmt.Printf("run 1   mode %-7s samples %-7d min     1.000\n", s.mode, len(w.stamps))
	}
	if err := w.write(); err != nil {
		return err
	}
	_, err = c.Write([]byte{quit})
	return err
}

type window struct {
	setup
	conn   net.Conn
	stamps [][3]int64
}

func (w *window) run() error {
	grid, _ := strconv.ParseInt(os.Getenv(GridVar), 10, 64)
	pause, _ := time.ParseDuration(os.Getenv(PauseVar))
	for n := int64(0); ; n++ {
		t1 := measure.Now()
		if _, err := w.conn.Write([]byte{request}); err != nil {
			return err
		}
		var stamp [8]byte
		if _, err := io.ReadFull(w.conn, stamp[:]); err != nil {
			return err
		}
		t2, t4 := int64(binary.LittleEndian.Uint64(stamp[:])), measure.Now()
		if strings.HasPrefix(w.mode, "bc") {
			t1, t2 = t2, 0
		}
		if grid > 1 {
			t1, t2, t4 = t1-t1%grid, t2-t2%grid, t4-t4%grid
		}
		if n >= w.warmup {
			w.stamps = append(w.stamps, [3]int64{t1, t2, t4})
		}
		if k := int64(len(w.stamps)); k > 0 && (w.count > 0 && k == w.count || w.window > 0 && t4-w.stamps[0][0] >= int64(w.window)) {
			return nil
		}
		time.Sleep(pause)
	}
}

// write writes the samples as areg-sdk documents them, or with the fault that is asked for.
func (w *window) write() error {
	if fault("nofile") {
		return nil
	}
	f, err := os.Create(w.file)
	if err != nil {
		return err
	}
	b := bufio.NewWriter(f)
	n := len(w.stamps)
	if fault("count") {
		n++
	}
	if fault("short") {
		w.stamps = w.stamps[:len(w.stamps)/2]
		n = len(w.stamps)
	}
	fmt.Fprintf(b, "# Run #1: mode=%s, stop=count, count=%d, warmup=%d, throughput=1 msg/s\n# Min: 1.00 us\n", w.mode, n, w.warmup)
	head := "seq,mode,t1_ns,t2_ns,t4_ns,rtt_ns,rtt_us"
	if fault("header") {
		head = "seq,mode,t1_us,t4_us,rtt_us"
	}
	fmt.Fprintln(b, head)
	for i, t := range w.stamps {
		seq, mode := i+1, w.mode
		if i == len(w.stamps)/2 {
			switch {
			case fault("negative"):
				t[0] = t[2] + 5
			case fault("lost"):
				continue
			case fault("twice"):
				seq--
			case fault("overlap"):
				t[0] -= 1e9
			case fault("mode"):
				mode = "pp1"
			}
		}
		fmt.Fprintf(b, "%d,%s,%d,%d,%d,%d,%.3f\n", seq, mode, t[0], t[1], t[2], t[2]-t[0], float64(t[2]-t[0])/1e3)
	}
	if fault("cut") {
		fmt.Fprint(b, "99,pp")
	}
	return errors.Join(b.Flush(), f.Close())
}
