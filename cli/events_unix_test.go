//go:build unix

package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"msgbench/bench"
	"msgbench/results"
)

// pipeEvents are events that go into a pipe.
func pipeEvents(t *testing.T) (*events, *os.File, *bytes.Buffer) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	var warn bytes.Buffer
	return &events{name: "pipe", out: newFileSink(w, true), warn: &warn}, r, &warn
}

func TestEventsReachAReader(t *testing.T) {
	e, r, warn := pipeEvents(t)
	const n = 5000 // far more than a pipe holds
	lines := make(chan int)
	go func() {
		got := 0
		for s := bufio.NewScanner(r); s.Scan(); got++ {
			var v struct {
				V     int
				Event string
				Round int
			}
			if err := json.Unmarshal(s.Bytes(), &v); err != nil || v.V != 1 || v.Event != "round" || v.Round != got {
				t.Errorf("line %d: %q, %v", got, s.Text(), err)
			}
		}
		lines <- got
	}()
	for i := range n {
		e.round(bench.RoundInfo{Number: i, Of: n, Cells: 3})
	}
	if err := e.close(); err != nil || warn.Len() > 0 {
		t.Errorf("%v %s", err, warn)
	}
	if got := <-lines; got != n {
		t.Errorf("%d lines arrived, want %d", got, n)
	}
}

// A reader that never reads costs a run its patience once, and then nothing until the end.
func TestEventsWithoutReading(t *testing.T) {
	e, _, warn := pipeEvents(t)
	begun := time.Now()
	const n = 20000
	for i := range n {
		e.round(bench.RoundInfo{Number: i, Of: n, Cells: 3})
	}
	if e.err == nil || !strings.Contains(warn.String(), "--events pipe: its reader takes nothing") {
		t.Errorf("%v, said: %s", e.err, warn)
	}
	if strings.Count(warn.String(), "\n") != 1 {
		t.Errorf("said: %s", warn)
	}
	if err := e.close(); err == nil || !strings.Contains(err.Error(), "events were lost") {
		t.Errorf("close: %v", err)
	}
	if d := time.Since(begun); d < patience || d > 20*time.Second {
		t.Errorf("took %s", d)
	}
}

// One that comes back gets all that waits.
func TestEventsWithASlowReader(t *testing.T) {
	e, r, _ := pipeEvents(t)
	for i := range 1500 {
		e.round(bench.RoundInfo{Number: i, Of: 1500, Cells: 3})
	}
	if !e.slow || e.err != nil {
		t.Fatalf("slow: %v, %v", e.slow, e.err)
	}
	text := make(chan string)
	go func() {
		b, _ := io.ReadAll(r)
		text <- string(b)
	}()
	if err := e.close(); err != nil {
		t.Error(err)
	}
	if got := strings.Count(<-text, "\n"); got != 1500 {
		t.Errorf("%d lines", got)
	}
}

func TestEventsReaderGone(t *testing.T) {
	e, r, warn := pipeEvents(t)
	r.Close()
	e.rerun([]string{"a"}, time.Second)
	e.rerun([]string{"a"}, time.Second)
	err := e.close()
	if err == nil || err.Error() != "--events pipe: its reader is gone; 2 events were lost" || !strings.Contains(warn.String(), "the run goes on without events") {
		t.Errorf("%v; said %s", err, warn)
	}
}

func TestEventsOpen(t *testing.T) {
	s := streams{err: io.Discard}
	dir := t.TempDir()
	if e, err := openEvents(t.Context(), "", s); e != nil || err != nil {
		t.Error(e, err)
	}
	if _, err := openEvents(t.Context(), filepath.Join(dir, "no", "such"), s); err == nil || !strings.Contains(err.Error(), "--events") {
		t.Error(err)
	}
	// A file is appended to.
	file := filepath.Join(dir, "e")
	for range 2 {
		e, err := openEvents(t.Context(), file, s)
		if err != nil {
			t.Fatal(err)
		}
		e.row(results.Row{Cell: "a", Verdict: results.Stable, Throughput: results.N(2)})
		if err := e.close(); err != nil {
			t.Error(err)
		}
	}
	if data, _ := os.ReadFile(file); strings.Count(string(data), `"event":"row","cell":"a","verdict":"stable","throughput":2}`+"\n") != 2 {
		t.Errorf("%s", data)
	}
	// A FIFO that nobody reads is waited for, but not for ever and not against an interrupt.
	fifo := filepath.Join(dir, "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := openEvents(ctx, fifo, s); err == nil {
		t.Error("a FIFO without a reader was opened")
	}
	go func() {
		time.Sleep(50 * time.Millisecond)
		f, err := os.Open(fifo)
		if err == nil {
			io.Copy(io.Discard, f)
			f.Close()
		}
	}()
	e, err := openEvents(t.Context(), fifo, s)
	if err != nil {
		t.Fatal(err)
	}
	e.rerun(nil, 0)
	if err := e.close(); err != nil {
		t.Error(err)
	}
}
