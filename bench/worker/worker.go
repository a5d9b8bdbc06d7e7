// Package worker is the process side of a sample: what `msgbench worker` does in its role.
package worker

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"msgbench/bench/protocol"
)

// Main runs one worker to its end: words are its command line, in and out the protocol.
func Main(words []string, in io.Reader, out io.Writer) error {
	w := &worker{out: out, start: make(chan protocol.StartInfo, 1), report: make(chan protocol.ReportInfo, 1), stop: make(chan struct{})}
	if len(words) == 1 {
		switch words[0] {
		case "--describe":
			d, err := describe()
			if err != nil {
				return err
			}
			return w.say(protocol.Hello+" "+fmt.Sprint(protocol.Version), d)
		case "--host":
			h, err := host()
			if err != nil {
				return err
			}
			return w.say(protocol.Host, h)
		}
	}
	args, err := protocol.ParseArgs(words)
	if err != nil {
		return fmt.Errorf("worker: %w", err)
	}
	if args.Listen != "" {
		if err := w.moveIn(args); err != nil {
			return w.fail(args, err)
		}
	}
	onTerminate(w.leave)
	go w.listen(in)
	m, err := w.measure(args)
	if err != nil {
		return w.fail(args, err)
	}
	if err := w.say(protocol.Result, m); err != nil {
		return err
	}
	<-w.stop
	w.cleanUp()
	return nil
}

// fail tells the runner why this worker can't go on.
func (w *worker) fail(args protocol.Args, err error) error {
	err = fmt.Errorf("%s: %w", args.Role, err)
	w.cleanUp()
	if sayErr := w.say(protocol.Error, protocol.ErrorInfo{Reason: err.Error()}); sayErr != nil {
		return sayErr
	}
	return err
}

type worker struct {
	out    io.Writer
	start  chan protocol.StartInfo
	report chan protocol.ReportInfo // by report, which only a broker gets
	stop   chan struct{}            // closed by stop
	mu     sync.Mutex
	held   []io.Closer // what must be closed, and unlinked, before this process ends
	there  *lookout    // of a process on another host than its runner; nil: here
}

// say prints one line of the protocol.
func (w *worker) say(word string, v any) error {
	line, err := protocol.Line(word, v)
	if err != nil {
		return err
	}
	_, err = w.out.Write(line)
	return err
}

// listen reads what the runner says. When the runner is gone, its end of the pipe is closed: then nothing keeps us here.
func (w *worker) listen(in io.Reader) {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		word, rest, _ := strings.Cut(lines.Text(), " ")
		switch word {
		case protocol.Start:
			var s protocol.StartInfo
			if err := json.Unmarshal([]byte(rest), &s); err != nil {
				fmt.Fprintf(os.Stderr, "worker: start: %v\n", err)
				w.leave()
			}
			w.start <- s
		case protocol.Report:
			var r protocol.ReportInfo
			if rest != "" {
				if err := json.Unmarshal([]byte(rest), &r); err != nil {
					fmt.Fprintf(os.Stderr, "worker: report: %v\n", err)
					w.leave()
				}
			}
			select {
			case w.report <- r:
			default:
			}
		case protocol.Stop:
			close(w.stop)
			return
		}
	}
	w.leave()
}

func (w *worker) awaitStart() (protocol.StartInfo, error) {
	select {
	case s := <-w.start:
		return s, nil
	case <-w.stop:
		return protocol.StartInfo{}, errors.New("stopped before it was started")
	}
}
