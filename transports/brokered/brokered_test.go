package brokered

import (
	"os"
	"testing"

	"msgbench/transports"
	"msgbench/transports/transporttest"
)

// routerEnv names the router of a test to the peer processes that the conformance suite starts.
const routerEnv = "MSGBENCH_BROKERED_TEST_ROUTER"

// routed is the transport with a router and a scope already chosen, as the runner does.
type routed struct {
	*Transport
	scope    transports.Scope
	endpoint string
}

func (r routed) Info() transports.Info {
	i := r.Transport.Info()
	i.LockThread = r.Locks(transports.Options{Scope: r.scope})
	return i
}

func (r routed) options(o transports.Options) transports.Options {
	o.Broker, o.Scope = r.endpoint, r.scope
	return o
}

func (r routed) Listen(o transports.Options) (transports.Listener, error) {
	return r.Transport.Listen(r.options(o))
}

func (r routed) Dial(endpoint string, o transports.Options) (transports.Conn, error) {
	return r.Transport.Dial(endpoint, r.options(o))
}

func (r routed) ListenBroadcast(o transports.Options) (transports.Listener, error) {
	return r.Transport.ListenBroadcast(r.options(o))
}

func (r routed) DialBroadcast(endpoint string, o transports.Options) (transports.Conn, error) {
	return r.Transport.DialBroadcast(endpoint, r.options(o))
}

// withRouter starts a router, or in a peer process takes the one of the test.
func withRouter(t *testing.T, tr transports.Transport, scope transports.Scope) routed {
	t.Helper()
	if e := os.Getenv(routerEnv); e != "" {
		return routed{tr.(*Transport), scope, e}
	}
	dir, err := os.MkdirTemp("", "mb") // t.TempDir's paths are longer than a Unix socket's may be
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	b, err := tr.(*Transport).ListenBroker(transports.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- b.Serve() }()
	t.Cleanup(func() {
		b.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	t.Setenv(routerEnv, b.Endpoint())
	return routed{tr.(*Transport), scope, b.Endpoint()}
}

func TestConformanceTCPStack(t *testing.T) { conformance(t, NewTCP(), transports.Stack) }
func TestConformanceTCPRaw(t *testing.T)   { conformance(t, NewTCP(), transports.Raw) }
func TestConformanceUnixStack(t *testing.T) {
	conformance(t, NewUnix(), transports.Stack)
}
func TestConformanceUnixRaw(t *testing.T) { conformance(t, NewUnix(), transports.Raw) }

// conformance demands that not even the router, which is in this process, allocates anything for a message.
func conformance(t *testing.T, tr transports.Transport, scope transports.Scope) {
	transporttest.Run(t, withRouter(t, tr, scope), transporttest.NoAllocs)
}
