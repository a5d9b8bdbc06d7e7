package broker

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"
)

const testTime = 10 * time.Second

// startRouter runs a router on a free port until the test ends.
func startRouter(t *testing.T, o Options) (*Router, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := New(l, o)
	served := make(chan error, 1)
	go func() { served <- r.Serve() }()
	t.Cleanup(func() {
		r.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return r, Endpoint(l.Addr(), o.Token)
}

func connect(t *testing.T, endpoint string) *Link {
	t.Helper()
	l, err := Connect(context.Background(), endpoint, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	l.Conn.SetDeadline(time.Now().Add(testTime))
	return l
}

// pair is a provider and a consumer that has found its service.
type pair struct {
	provider, consumer *Link
	service            Service
}

func newPair(t *testing.T, endpoint, name string) pair {
	t.Helper()
	p := pair{provider: connect(t, endpoint), consumer: connect(t, endpoint)}
	if _, err := p.provider.Register(name, []uint32{1, 2}); err != nil {
		t.Fatal(err)
	}
	var err error
	if p.service, err = p.consumer.Find(name); err != nil {
		t.Fatal(err)
	}
	if len(p.service.Methods) != 2 || p.service.Provider != p.provider.Cookie {
		t.Fatalf("found %+v, want provider %d and 2 methods", p.service, p.provider.Cookie)
	}
	f := next(t, p.provider, Attached)
	if SourceOf(f) != p.consumer.Cookie || ServiceOf(f) != p.service.ID {
		t.Fatalf("attached: consumer %d of service %d", SourceOf(f), ServiceOf(f))
	}
	for _, l := range []*Link{p.provider, p.consumer} {
		l.Conn.SetDeadline(time.Now().Add(testTime))
	}
	return p
}

// next is the next frame, which is to be of that event.
func next(t *testing.T, l *Link, want Event) []byte {
	t.Helper()
	f, err := l.Next()
	if err != nil {
		t.Fatalf("waiting for event %d: %v", want, err)
	}
	if e := EventOf(f); e != want {
		t.Fatalf("event %d, want %d", e, want)
	}
	return f
}

// exchange sends a request and its response, and checks that both came as they were sent.
func (p pair) exchange(t *testing.T, seq uint64) {
	t.Helper()
	for _, w := range []struct{ from, to *Link }{{p.consumer, p.provider}, {p.provider, p.consumer}} {
		if err := w.from.Send(Header{BufType: BufFlat, Event: Message, Target: w.to.Cookie, Sequence: seq}, []byte("hello")); err != nil {
			t.Fatal(err)
		}
		f := next(t, w.to, Message)
		if SourceOf(f) != w.from.Cookie || SequenceOf(f) != seq || string(Body(f)) != "hello" {
			t.Fatalf("message %d from %d: %q", SequenceOf(f), SourceOf(f), Body(f))
		}
	}
}

// TestDiscovery finds services by name, and only those that there are.
func TestDiscovery(t *testing.T) {
	_, e := startRouter(t, Options{Token: []byte("secret")})
	p := newPair(t, e, "one")
	p.exchange(t, 1)
	if _, err := p.consumer.Find("two"); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "no such service") {
		t.Errorf("find: error %v", err)
	}
	if _, err := p.consumer.Register("one", nil); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "is registered") {
		t.Errorf("a second registration: error %v", err)
	}
	p.exchange(t, 2)
	// A service that is withdrawn can't be found, but who has found it keeps it; its name is free.
	if err := p.consumer.Withdraw(p.service.ID); !errors.Is(err, ErrRefused) {
		t.Errorf("withdraw another's service: error %v", err)
	}
	if err := p.provider.Withdraw(p.service.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := p.consumer.Find("one"); !errors.Is(err, ErrRefused) {
		t.Errorf("find what is withdrawn: error %v", err)
	}
	heir := newPair(t, e, "one")
	p.exchange(t, 3)
	// With its provider, a service is gone; the name's new owner is not touched.
	heir.exchange(t, 4)
	heir.provider.Close()
	next(t, heir.consumer, Gone)
	// With its provider, the name is free again.
	p.provider.Close()
	if f := next(t, p.consumer, Gone); SourceOf(f) != p.provider.Cookie {
		t.Errorf("gone: %d", SourceOf(f))
	}
	if _, err := p.consumer.Register("one", nil); err != nil {
		t.Error(err)
	}
	if _, err := Connect(context.Background(), strings.ReplaceAll(e, "#73", "#74"), 1000); !errors.Is(err, ErrRefused) {
		t.Errorf("another token: error %v", err)
	}
}

// TestConsumerEnds tells the provider, after all that the consumer had sent.
func TestConsumerEnds(t *testing.T) {
	_, e := startRouter(t, Options{})
	p := newPair(t, e, "s")
	for i := range 100 {
		if err := p.consumer.Send(Header{BufType: BufFlat, Event: Message, Target: p.provider.Cookie, Sequence: uint64(i)}, nil); err != nil {
			t.Fatal(err)
		}
	}
	p.consumer.Close()
	for i := range 100 {
		if f := next(t, p.provider, Message); SequenceOf(f) != uint64(i) {
			t.Fatalf("message %d, want %d", SequenceOf(f), i)
		}
	}
	if f := next(t, p.provider, Gone); SourceOf(f) != p.consumer.Cookie {
		t.Errorf("gone: %d", SourceOf(f))
	}
}

// TestBroadcast reaches those who subscribed to that event of that service, and nobody else.
func TestBroadcast(t *testing.T) {
	_, e := startRouter(t, Options{})
	p := newPair(t, e, "s")
	var in, out []*Link
	for i := range 6 {
		l := connect(t, e)
		s, err := l.Find("s")
		if err != nil {
			t.Fatal(err)
		}
		next(t, p.provider, Attached)
		event := uint32(7)
		if i >= 3 {
			event = 8
			out = append(out, l)
		} else {
			in = append(in, l)
		}
		if err := l.Subscribe(s.ID, event); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 50 {
		h := Header{BufType: BufFlat, Event: Broadcast, Service: p.service.ID, EventID: 7, Sequence: uint64(i)}
		if err := p.provider.Send(h, []byte("news")); err != nil {
			t.Fatal(err)
		}
		// Whoever is not the provider has no say.
		if err := p.consumer.Send(h, []byte("lies")); err != nil {
			t.Fatal(err)
		}
		next(t, p.consumer, Undeliverable)
	}
	for _, l := range in {
		l.Conn.SetDeadline(time.Now().Add(testTime))
		for i := range 50 {
			if f := next(t, l, Broadcast); SequenceOf(f) != uint64(i) || string(Body(f)) != "news" {
				t.Fatalf("publication %d: %q", SequenceOf(f), Body(f))
			}
		}
	}
	in[0].Close()
	if f := next(t, p.provider, Gone); SourceOf(f) != in[0].Cookie {
		t.Errorf("gone: %d", SourceOf(f))
	}
	for _, l := range append(out, in[1:]...) {
		l.Conn.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
		if f, err := l.Next(); err == nil {
			t.Errorf("an event %d that was not for it", EventOf(f))
		}
	}
	if err := p.consumer.Subscribe(p.service.ID+1, 7); !errors.Is(err, ErrRefused) {
		t.Errorf("subscribe to no service: error %v", err)
	}
}

// TestBadFrames closes the connection that sent one, says why, and disturbs nobody else.
func TestBadFrames(t *testing.T) {
	r, e := startRouter(t, Options{MaxFrame: 1 << 20, Token: []byte("secret")})
	busy := newPair(t, e, "busy")
	good := func(l *Link) []byte {
		return Frame(Header{BufType: BufFlat, Event: Message, Target: busy.provider.Cookie, Source: l.Cookie}, []byte("body"))
	}
	for i, c := range []struct {
		name  string
		bytes func(l *Link) []byte
		says  string
	}{
		{"half a header", func(l *Link) []byte { return good(l)[:60] }, "inside a frame"},
		{"half a body", func(l *Link) []byte { return good(l)[:130] }, "inside a frame"},
		{"4 GiB", func(l *Link) []byte { f := good(l); le.PutUint32(f, 1<<32-1); return f }, "more than 1048576 B"},
		{"length 3", func(l *Link) []byte { f := good(l); le.PutUint32(f, 3); return f }, "less than the header"},
		{"checksum", func(l *Link) []byte { f := good(l); f[130] ^= 1; return f }, "checksum"},
		{"source", func(l *Link) []byte { f := good(l); le.PutUint32(f[offSource:], busy.consumer.Cookie); return f }, "not its own"},
		{"event", func(l *Link) []byte { return Frame(Header{BufType: BufFlat, Event: 99, Source: l.Cookie}, nil) }, "event 99"},
		{"hello twice", func(l *Link) []byte { return Frame(Header{BufType: BufControl, Event: Hello, Source: l.Cookie}, nil) }, "second hello"},
		{"registration", func(l *Link) []byte {
			return Frame(Header{BufType: BufControl, Event: Register, Source: l.Cookie}, []byte{200, 0, 'x'})
		}, "registration"},
		{"noise", func(*Link) []byte { return []byte(strings.Repeat("noise ", 100)) }, "length"},
	} {
		l := connect(t, e)
		if _, err := l.Conn.Write(c.bytes(l)); err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(c.name, "half") {
			l.Conn.(*net.TCPConn).CloseWrite()
		}
		if _, err := l.Next(); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: error %v, want one that says %q", c.name, err, c.says)
		}
		busy.exchange(t, uint64(i))
	}
	if n := r.Counts().Refused; n != 10 {
		t.Errorf("%d connections counted as refused, want 10", n)
	}
	// One that says nothing at all but has half a hello is dropped in time; here only that nobody waits for it.
	mute, err := net.Dial("tcp", r.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	mute.Write(make([]byte, 5))
	busy.exchange(t, 99)
}

// TestStrays tells of targets that do not exist, and closes who goes on sending to them.
func TestStrays(t *testing.T) {
	r, e := startRouter(t, Options{})
	l := connect(t, e)
	stray := Header{BufType: BufFlat, Event: Message, Target: 4711, Sequence: 5, Message: 6}
	if err := l.Send(stray, nil); err != nil {
		t.Fatal(err)
	}
	if f := next(t, l, Undeliverable); SourceOf(f) != 4711 || SequenceOf(f) != 5 || MessageOf(f) != 6 || ResultOf(f) != ResultNotFound {
		t.Errorf("undeliverable: source %d, sequence %d", SourceOf(f), SequenceOf(f))
	}
	for until := time.Now().Add(2 * strayTime); time.Now().Before(until); time.Sleep(time.Millisecond) {
		l.Send(stray, nil)
	}
	for {
		_, err := l.Next()
		if err == nil {
			continue
		}
		if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "nobody") {
			t.Errorf("error %v", err)
		}
		break
	}
	if n := r.Counts().Undeliverable; n < maxStrays {
		t.Errorf("%d counted as undeliverable", n)
	}
}

// TestCrowd connects and disconnects a thousand times, some in the midst of it all, and leaves nothing behind.
func TestCrowd(t *testing.T) {
	r, e := startRouter(t, Options{})
	p := newPair(t, e, "s")
	before := runtime.NumGoroutine()
	for i := range 1000 {
		l, err := Connect(context.Background(), e, 1000)
		if err != nil {
			t.Fatal(err)
		}
		switch i % 4 {
		case 0:
			l.Register("of its own", nil)
		case 1:
			if _, err := l.Find("s"); err != nil {
				t.Fatal(err)
			}
		case 2:
			l.Conn.Write(make([]byte, 7))
		case 3:
			l.Conn.(*net.TCPConn).SetLinger(0)
		}
		l.Close()
		if i%4 == 1 {
			next(t, p.provider, Attached)
			next(t, p.provider, Gone)
		}
	}
	p.exchange(t, 1)
	for until := time.Now().Add(testTime); r.Counts().Conns > 2 || runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("%d connections and %d goroutines are left, %d goroutines before", r.Counts().Conns, runtime.NumGoroutine(), before)
		}
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	if len(r.services) != 1 || len(r.byID) != 1 || len(r.services["s"].consumers) != 1 {
		t.Errorf("%d services are left", len(r.services))
	}
}

// TestHeartbeat closes who does not answer, and not who does.
func TestHeartbeat(t *testing.T) {
	r, e := startRouter(t, Options{Heartbeat: 20 * time.Millisecond})
	dead, alive := connect(t, e), connect(t, e)
	go func() {
		for {
			if _, err := alive.Next(); err != nil {
				return
			}
		}
	}()
	time.Sleep(20 * (missedBeats + 4) * time.Millisecond)
	dead.Conn.SetDeadline(time.Now().Add(testTime))
	for {
		_, err := dead.In.Next()
		if err == nil {
			continue
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || strings.Contains(err.Error(), "reset") {
			break
		}
		t.Fatal(err)
	}
	if n := r.Counts().Conns; n != 1 {
		t.Errorf("%d connections are left, want the one that answers", n)
	}
}

// TestLimits holds the limits of what one connection may ask for.
func TestLimits(t *testing.T) {
	_, e := startRouter(t, Options{MaxConns: 2})
	l := connect(t, e)
	name := make([]byte, 4)
	for i := range maxServices + 1 {
		binary.LittleEndian.PutUint32(name, uint32(i))
		if _, err := l.Register(string(name), nil); (err != nil) != (i == maxServices) {
			t.Fatalf("service %d: error %v", i, err)
		}
	}
	connect(t, e)
	if l, err := Connect(context.Background(), e, 1000); err == nil {
		l.Close()
		t.Error("a third connection where two are allowed")
	}
}

// Close may come before Serve has begun, and while it does.
func TestCloseAtOnce(t *testing.T) {
	for range 200 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		r := New(l, Options{})
		served := make(chan error, 1)
		go func() { served <- r.Serve() }()
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-served; err != nil {
			t.Fatal(err)
		}
	}
}
