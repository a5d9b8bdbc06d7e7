package broker

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"time"
)

// Endpoint is where a router listens and what a connection has to show: network:address/token in one word.
func Endpoint(addr net.Addr, token []byte) string {
	return addr.Network() + ":" + addr.String() + "#" + hex.EncodeToString(token)
}

// parseEndpoint takes an Endpoint apart.
func parseEndpoint(s string) (network, address string, token []byte, err error) {
	network, rest, ok := strings.Cut(s, ":")
	address, text, ok2 := strings.Cut(rest, "#")
	if token, err = hex.DecodeString(text); err != nil || !ok || !ok2 || (network != "tcp" && network != "unix") {
		return "", "", nil, fmt.Errorf("broker: endpoint %q is not tcp:ADDRESS#TOKEN or unix:PATH#TOKEN", s)
	}
	return network, address, token, nil
}

// Link is a connection to a router, as one that has said hello. Its methods are for one goroutine.
type Link struct {
	Conn   net.Conn
	Cookie uint32
	In     *Reader
	// Early is called with frames that come while an answer is awaited; they are valid until it returns.
	Early func(f []byte)
	seq   uint64
}

// linkTime bounds each step of connecting.
const linkTime = 5 * time.Second

// ErrRefused is in the error for what the router did not do; the text says why.
var ErrRefused = errors.New("refused by the router")

// Connect connects to the router at endpoint and says hello; frames of up to maxFrame bytes will come.
func Connect(ctx context.Context, endpoint string, maxFrame int) (*Link, error) {
	network, address, token, err := parseEndpoint(endpoint)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, linkTime)
	defer cancel()
	d := net.Dialer{KeepAlive: -1}
	c, err := d.DialContext(ctx, network, address)
	if err != nil {
		return nil, fmt.Errorf("broker: %w", err)
	}
	l := &Link{Conn: c, In: NewReader(c, max(maxFrame, HeaderSize+4096)), Early: func([]byte) {}}
	f, err := l.ask(Header{Event: Hello}, token, Welcome)
	if err != nil {
		c.Close()
		return nil, err
	}
	l.Cookie = TargetOf(f)
	return l, nil
}

// ConnectRetry connects like Connect, again and again with growing pauses, until it succeeds or ctx ends.
func ConnectRetry(ctx context.Context, endpoint string, maxFrame int) (*Link, error) {
	var b Backoff
	for {
		l, err := Connect(ctx, endpoint, maxFrame)
		if err == nil || ctx.Err() != nil {
			return l, err
		}
		if b.Wait(ctx) != nil {
			return nil, err
		}
	}
}

// ask sends a frame to the router and waits for its answer.
func (l *Link) ask(h Header, body []byte, want Event) ([]byte, error) {
	l.seq++
	h.BufType, h.Source, h.Sequence = BufControl, l.Cookie, l.seq
	l.Conn.SetDeadline(time.Now().Add(linkTime))
	defer l.Conn.SetDeadline(time.Time{})
	if _, err := l.Conn.Write(Frame(h, body)); err != nil {
		return nil, fmt.Errorf("broker: %w", err)
	}
	for {
		f, err := l.In.Next()
		if err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return nil, fmt.Errorf("broker: waiting for the router's answer: %w", err)
		}
		switch e := EventOf(f); {
		case e == want && SequenceOf(f) == l.seq:
			if r := ResultOf(f); r != ResultOK {
				return nil, fmt.Errorf("broker: %w: %s", ErrRefused, ResultText(r))
			}
			return f, nil
		case e == Refused:
			return nil, fmt.Errorf("broker: %w: %q", ErrRefused, Body(f))
		case e == Ping:
			if err := l.pong(); err != nil {
				return nil, err
			}
		default:
			l.Early(f)
		}
	}
}

// pong answers the router's heartbeat.
func (l *Link) pong() error {
	_, err := l.Conn.Write(Frame(Header{BufType: BufControl, Event: Pong, Source: l.Cookie}, nil))
	return err
}

// ResultText says in words what a result is.
func ResultText(r uint32) string {
	switch r {
	case ResultOK:
		return "done"
	case ResultNotFound:
		return "no such service"
	case ResultTaken:
		return "a service of that name is registered"
	case ResultTooMany:
		return "too many"
	case ResultMalformed:
		return "malformed"
	}
	return fmt.Sprintf("result %d", r)
}

// Register registers a service with its methods, and returns its number.
func (l *Link) Register(name string, methods []uint32) (service uint32, err error) {
	if name == "" || len(name) > maxName {
		return 0, fmt.Errorf("broker: the name %q does not have 1 to %d B", name, maxName)
	}
	f, err := l.ask(Header{Event: Register}, registerBody(name, methods), Registered)
	if err != nil {
		return 0, fmt.Errorf("register %q: %w", name, err)
	}
	return ServiceOf(f), nil
}

// Withdraw takes a service of the connection's own from those that can be found. Who has found it keeps it.
func (l *Link) Withdraw(service uint32) error {
	_, err := l.ask(Header{Event: Withdraw, Service: service}, nil, Withdrawn)
	return err
}

// Service is what a consumer knows of a service.
type Service struct {
	ID, Provider uint32 // number, and cookie of its provider
	Methods      []uint32
}

// Find finds a service by its name. Its provider is told, and both sides will hear of each other's end.
func (l *Link) Find(name string) (Service, error) {
	f, err := l.ask(Header{Event: Find}, []byte(name), Found)
	if err != nil {
		return Service{}, fmt.Errorf("find %q: %w", name, err)
	}
	s := Service{ID: ServiceOf(f), Provider: SourceOf(f)}
	for b := Body(f); len(b) >= 4; b = b[4:] {
		s.Methods = append(s.Methods, le.Uint32(b))
	}
	return s, nil
}

// Subscribe puts the connection on the list of a service's broadcast.
func (l *Link) Subscribe(service, event uint32) error {
	if _, err := l.ask(Header{Event: Subscribe, Service: service, EventID: event}, nil, Subscribed); err != nil {
		return fmt.Errorf("subscribe to event %d: %w", event, err)
	}
	return nil
}

// Send sends a message; its source is set.
func (l *Link) Send(h Header, body []byte) error {
	h.Source = l.Cookie
	_, err := l.Conn.Write(Frame(h, body))
	return err
}

// Next returns the next frame that is not a heartbeat, which it answers; valid until the next call.
func (l *Link) Next() ([]byte, error) {
	for {
		f, err := l.In.Next()
		if err != nil {
			return nil, err
		}
		switch EventOf(f) {
		case Ping:
			if err := l.pong(); err != nil {
				return nil, err
			}
		case Refused:
			return nil, fmt.Errorf("broker: %w: %q", ErrRefused, Body(f))
		default:
			return f, nil
		}
	}
}

// Close ends the connection.
func (l *Link) Close() error { return l.Conn.Close() }

// Backoff are growing pauses between tries: 10 ms at first, at most a second, each shortened by up to a half at random, so that
// those whom one event has parted from the router do not come back all at once.
type Backoff struct{ pause time.Duration }

const (
	firstPause = 10 * time.Millisecond
	maxPause   = time.Second
)

// Next is how long the next pause is.
func (b *Backoff) Next() time.Duration {
	b.pause = min(max(2*b.pause, firstPause), maxPause)
	return b.pause/2 + rand.N(b.pause/2+1)
}

// Wait waits for the next pause; the error is that of ctx.
func (b *Backoff) Wait(ctx context.Context) error {
	t := time.NewTimer(b.Next())
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Keep keeps a connection to the router until ctx ends: it connects, lets set register, find and subscribe, and hands every
// frame that comes to handle; when the connection ends or set fails, it begins again, after a pause that grows until set
// has succeeded. It returns the error of ctx.
func Keep(ctx context.Context, endpoint string, maxFrame int, set func(*Link) error, handle func(*Link, []byte)) error {
	var b Backoff
	for ctx.Err() == nil {
		if l, err := Connect(ctx, endpoint, maxFrame); err == nil {
			stop := context.AfterFunc(ctx, func() { l.Close() })
			l.Early = func(f []byte) { handle(l, f) }
			if err := set(l); err == nil {
				b = Backoff{}
				for {
					f, err := l.Next()
					if err != nil {
						break
					}
					handle(l, f)
				}
			}
			stop()
			l.Close()
		}
		if b.Wait(ctx) != nil {
			break
		}
	}
	return ctx.Err()
}
