package aregtest

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"msgbench/measure"
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
