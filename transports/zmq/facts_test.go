package zmq_test

import (
	"os"
	"strings"
	"testing"

	"msgbench/transports"
	"msgbench/transports/zmq"
)

func pair(t *testing.T, tr transports.Transport, o transports.Options) (client, server transports.Conn) {
	t.Helper()
	o.Dir = t.TempDir()
	l, err := tr.Listen(o)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if client, err = tr.Dial(l.Endpoint(), o); err != nil {
		t.Fatal(err)
	}
	if server, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close(); server.Close() })
	return client, server
}

func TestFacts(t *testing.T) {
	mod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	client, server := pair(t, zmq.NewTCP(), transports.Options{})
	for k, want := range map[string]string{"socket": "REQ", "nodelay": "on", "send_queue": "0"} {
		if got := client.Facts()[k]; got != want {
			t.Errorf("client's %s is %q, want %q", k, got, want)
		}
	}
	if got := server.Facts()["socket"]; got != "REP" {
		t.Errorf("server's socket is %q", got)
	}
	if lib := client.Facts()["library"]; !strings.Contains(string(mod), lib) {
		t.Errorf("library %q is not what go.mod says", lib)
	}
	client, server = pair(t, zmq.NewTCP(), transports.Options{Nagle: true, Pattern: transports.Stream})
	for _, c := range []transports.Conn{client, server} {
		if f := c.Facts(); f["nodelay"] != "off" {
			t.Errorf("nodelay is %q with Nagle", f["nodelay"])
		}
	}
	if f := server.Facts(); f["socket"] != "PULL" || f["way_back_socket"] != "PUSH" {
		t.Errorf("a stream's listening side has %q and %q", f["socket"], f["way_back_socket"])
	}
}

// The two sides of a connection must agree on the pattern; a wrong one is told, not waited for.
func TestPatternsMustAgree(t *testing.T) {
	l, err := zmq.NewTCP().Listen(transports.Options{Dir: t.TempDir(), Pattern: transports.RequestReply})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, p := range []transports.Pattern{transports.Stream, "no-such-pattern"} {
		if c, err := zmq.NewTCP().Dial(l.Endpoint(), transports.Options{Pattern: p}); err == nil {
			c.Close()
			t.Errorf("pattern %q: no error", p)
		}
	}
}
