package nng

import (
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"go.nanomsg.org/mangos/v3"
	"go.nanomsg.org/mangos/v3/transport"
)

// scheme names the adapter's own transport within mangos. The library opens connections through transports that are
// registered by name; ours looks up what the adapter has prepared, so that each connection passes through its hands.
const scheme = "msgbench"

// hub is that transport: its addresses are numbers of prepared connections.
type hub struct{}

var (
	prepared sync.Map // number as text → *conn
	number   atomic.Uint64

	register = sync.OnceFunc(func() { transport.RegisterTransport(hub{}) })
)

var _ transport.Transport = hub{}

// prepare gives a connection an address for the library. forget takes it back.
func prepare(c *conn) (address string, forget func()) {
	register()
	id := strconv.FormatUint(number.Add(1), 10)
	prepared.Store(id, c)
	return scheme + "://" + id, func() { prepared.Delete(id) }
}

func find(address string) (*conn, error) {
	c, ok := prepared.Load(strings.TrimPrefix(address, scheme+"://"))
	if !ok {
		return nil, mangos.ErrAddrInUse
	}
	return c.(*conn), nil
}

func (hub) Scheme() string { return scheme }

// NewDialer returns what hands the library the connection that was dialed.
func (hub) NewDialer(address string, _ mangos.Socket) (mangos.TranDialer, error) {
	c, err := find(address)
	if err != nil {
		return nil, err
	}
	return &dialer{c: c}, nil
}

// NewListener returns the connection's gate.
func (hub) NewListener(address string, _ mangos.Socket) (mangos.TranListener, error) {
	c, err := find(address)
	if err != nil {
		return nil, err
	}
	return c.gate, nil
}

// noOptions is for the library's questions: all is set on the connections already.
type noOptions struct{}

func (noOptions) SetOption(string, any) error   { return mangos.ErrBadOption }
func (noOptions) GetOption(string) (any, error) { return nil, mangos.ErrBadOption }

// dialer hands over one connection once: the library would dial again for ever, and could meet another run's listener.
type dialer struct {
	noOptions
	c    *conn
	used atomic.Bool
}

func (d *dialer) Dial() (mangos.TranPipe, error) {
	if d.used.Swap(true) {
		return nil, mangos.ErrClosed
	}
	return d.c.pipe, nil
}
