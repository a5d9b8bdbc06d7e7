//go:build unix

package html

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// needChromium makes the lack of Chromium a failure; scripts/test sets it.
const needChromium = "MSGBENCH_NEED_CHROMIUM"

// browser is Chromium without a window, spoken to over a pair of pipes: when this process ends, however it ends, the
// pipes close and Chromium leaves.
type browser struct {
	t       *testing.T
	in      *os.File
	mu      sync.Mutex
	next    int
	waiting map[int]chan message
	events  []message
}

// message is one of the DevTools protocol; each ends with a zero byte.
type message struct {
	ID        int             `json:"id,omitempty"`
	Method    string          `json:"method,omitempty"`
	SessionID string          `json:"sessionId,omitempty"`
	Params    json.RawMessage `json:"params,omitempty"`
	Result    json.RawMessage `json:"result,omitempty"`
	Error     json.RawMessage `json:"error,omitempty"`
}

func startBrowser(t *testing.T) *browser {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		if os.Getenv(needChromium) != "" {
			t.Fatalf("no chromium in PATH, and %s is set: install the package chromium", needChromium)
		}
		t.Skipf("no chromium in PATH (%s=1 makes this a failure)", needChromium)
	}
	theirIn, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	// Not t.TempDir: Chromium may still write while it leaves.
	profile, err := os.MkdirTemp("", "msgbench-chromium")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
		"--disable-dev-shm-usage", "--disable-breakpad", "--disable-crash-reporter", "--hide-scrollbars",
		"--user-data-dir="+profile, "--remote-debugging-pipe", "about:blank")
	cmd.Env = append(os.Environ(), "HOME="+profile, "XDG_CONFIG_HOME="+profile, "XDG_CACHE_HOME="+profile)
	cmd.ExtraFiles = []*os.File{theirIn, theirOut} // descriptors 3 and 4
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirIn.Close()
	theirOut.Close()
	b := &browser{t: t, in: in, waiting: map[int]chan message{}}
	go b.read(out)
	t.Cleanup(func() {
		// Closing the pipe makes it leave by itself; what is left of its group after 5 s is killed.
		in.Close()
		ended := make(chan struct{})
		go func() { cmd.Wait(); close(ended) }()
		select {
		case <-ended:
		case <-time.After(5 * time.Second):
		}
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-ended
		out.Close()
		for range 20 {
			if os.RemoveAll(profile) == nil {
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
		t.Errorf("%s could not be removed", profile)
	})
	return b
}

func (b *browser) read(out io.Reader) {
	r := bufio.NewReader(out)
	for {
		data, err := r.ReadBytes(0)
		if err != nil {
			return
		}
		var m message
		if json.Unmarshal(data[:len(data)-1], &m) != nil {
			continue
		}
		b.mu.Lock()
		if c := b.waiting[m.ID]; m.ID != 0 && c != nil {
			delete(b.waiting, m.ID)
			c <- m
		} else {
			b.events = append(b.events, m)
		}
		b.mu.Unlock()
	}
}

// call sends a command and waits for its answer.
func (b *browser) call(session, method string, params any, result any) {
	b.t.Helper()
	p, err := json.Marshal(params)
	if err != nil {
		b.t.Fatal(err)
	}
	answer := make(chan message, 1)
	b.mu.Lock()
	b.next++
	m := message{ID: b.next, Method: method, SessionID: session, Params: p}
	b.waiting[m.ID] = answer
	b.mu.Unlock()
	data, err := json.Marshal(m)
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.in.Write(append(data, 0)); err != nil {
		b.t.Fatalf("%s: %v", method, err)
	}
	select {
	case a := <-answer:
		if a.Error != nil {
			b.t.Fatalf("%s: %s", method, a.Error)
		}
		if result != nil {
			if err := json.Unmarshal(a.Result, result); err != nil {
				b.t.Fatalf("%s: %v", method, err)
			}
		}
	case <-time.After(60 * time.Second):
		b.t.Fatalf("%s: no answer", method)
	}
}

// tab is an open page.
type tab struct {
	*browser
	session string
	target  string
}

func (t tab) close() {
	t.t.Helper()
	t.call("", "Target.closeTarget", map[string]any{"targetId": t.target}, nil)
}

// open shows a file and waits until it is loaded.
func (b *browser) open(file string) tab {
	b.t.Helper()
	var target struct{ TargetID string }
	b.call("", "Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.call("", "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	t := tab{b, attached.SessionID, target.TargetID}
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		b.call(t.session, domain+".enable", map[string]any{}, nil)
	}
	b.call(t.session, "Page.navigate", map[string]any{"url": "file://" + filepath.ToSlash(file)}, nil)
	deadline := time.Now().Add(60 * time.Second)
	for !t.seen("Page.loadEventFired") {
		if time.Now().After(deadline) {
			b.t.Fatalf("%s was not loaded", file)
		}
		time.Sleep(5 * time.Millisecond)
	}
	return t
}

func (t tab) seen(method string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range t.events {
		if e.SessionID == t.session && e.Method == method {
			return true
		}
	}
	return false
}

// eval runs an expression, waits for its promise, and decodes its value.
func (t tab) eval(expression string, value any) {
	t.t.Helper()
	var r struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails json.RawMessage
	}
	t.call(t.session, "Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}, &r)
	if r.ExceptionDetails != nil {
		t.t.Fatalf("%s: %s", expression, r.ExceptionDetails)
	}
	if value != nil {
		if err := json.Unmarshal(r.Result.Value, value); err != nil {
			t.t.Fatalf("%s: %v: %s", expression, err, r.Result.Value)
		}
	}
}

// complaints are errors, warnings and console lines of the page, and requests for anything but the page.
func (t tab) complaints(file string) (list []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range t.events {
		if e.SessionID != t.session {
			continue
		}
		switch e.Method {
		case "Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded":
			list = append(list, fmt.Sprintf("%s %s", e.Method, e.Params))
		case "Network.requestWillBeSent":
			var p struct{ Request struct{ URL string } }
			_ = json.Unmarshal(e.Params, &p)
			if u := p.Request.URL; !strings.HasSuffix(u, filepath.ToSlash(file)) && !strings.HasPrefix(u, "data:") {
				list = append(list, "fetched "+u)
			}
		}
	}
	return list
}
