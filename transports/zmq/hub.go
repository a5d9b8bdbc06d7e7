package zmq

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"

	zmq4 "github.com/go-zeromq/zmq4"
	"github.com/go-zeromq/zmq4/transport"
)

// scheme names the adapter's own transport within zmq4. The library opens connections through transports that are
// registered by name; ours looks up what the adapter has prepared, so that each connection passes through its hands.
const scheme = "msgbench"

// hub is that transport: its addresses are numbers of prepared links.
type hub struct{}

var (
	prepared sync.Map // number as text → *link
	number   atomic.Uint64

	register = sync.OnceValue(func() error { return zmq4.RegisterTransport(scheme, hub{}) })
)

var _ transport.Transport = hub{}

// prepare gives a link an address for the library. forget takes it back.
func prepare(k *link) (address string, forget func()) {
	id := strconv.FormatUint(number.Add(1), 10)
	prepared.Store(id, k)
	return scheme + "://" + id, func() { prepared.Delete(id) }
}

func find(id string) (*link, error) {
	k, ok := prepared.Load(id)
	if !ok {
		return nil, fmt.Errorf("no prepared connection %q", id)
	}
	return k.(*link), nil
}

// Dial returns the connection that the link has dialed.
func (hub) Dial(_ context.Context, _ transport.Dialer, id string) (net.Conn, error) {
	k, err := find(id)
	if err != nil {
		return nil, err
	}
	return k.wire.conn, nil
}

// Listen returns the link's gate.
func (hub) Listen(_ context.Context, id string) (net.Listener, error) {
	k, err := find(id)
	if err != nil {
		return nil, err
	}
	return k.gate, nil
}

func (hub) Addr(id string) (string, error) { return id, nil }
