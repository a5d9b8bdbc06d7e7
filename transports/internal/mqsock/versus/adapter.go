package versus

import (
	"fmt"
	"testing"

	"msgbench/transports"
)

// Bare compares the adapters for TCP and for Unix sockets with the programs that bare gives for a kind, "tcp" or "ipc", and a
// pattern, in several message sizes.
func Bare(t *testing.T, tcp, ipc transports.Transport, bare func(kind string, p transports.Pattern) Program) {
	for _, x := range []struct {
		kind string
		tr   transports.Transport
	}{{"tcp", tcp}, {"ipc", ipc}} {
		for _, p := range []transports.Pattern{transports.RequestReply, transports.Pipelined} {
			for _, size := range []int{40, 4096, 64 << 10} {
				t.Run(fmt.Sprint(x.kind, "-", p, "-", size), func(t *testing.T) {
					run(t, map[string]Program{"adapter": adapter(x.tr, p), "bare": bare(x.kind, p)}, size, max(6000-size/16, 2000))
				})
			}
		}
	}
}

// adapter is a program that uses a transport of this tree.
func adapter(tr transports.Transport, p transports.Pattern) Program {
	return Program{
		Listen: func(dir string) (string, func() (Side, error), error) {
			l, err := tr.Listen(transports.Options{Dir: dir, Pattern: p})
			if err != nil {
				return "", nil, err
			}
			return l.Endpoint(), func() (Side, error) { return sideOf(l.Accept()) }, nil
		},
		Dial: func(endpoint string) (Side, error) { return sideOf(tr.Dial(endpoint, transports.Options{Pattern: p})) },
	}
}

func sideOf(c transports.Conn, err error) (Side, error) {
	if err != nil {
		return Side{}, err
	}
	return Side{Send: c.Send, Recv: c.Recv}, nil
}
