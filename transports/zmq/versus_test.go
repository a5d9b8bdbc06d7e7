//go:build unix

package zmq_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	zmq4 "github.com/go-zeromq/zmq4"

	"msgbench/transports"
	"msgbench/transports/internal/mqsock/versus"
	"msgbench/transports/zmq"
)

// TestVersusBare measures the adapter against a program that uses the library as its README says:
//
//	MSGBENCH_VERSUS_ROUNDS=15 go test -run TestVersusBare -v ./transports/zmq
func TestVersusBare(t *testing.T) {
	for _, kind := range []string{"tcp", "ipc"} {
		for _, p := range []transports.Pattern{transports.RequestReply, transports.Pipelined} {
			for _, size := range []int{40, 4096, 64 << 10} {
				t.Run(fmt.Sprint(kind, "-", p, "-", size), func(t *testing.T) {
					versus.Run(t, map[string]versus.Program{"adapter": adapter(kind, p), "bare": bare(kind, p)}, size, max(6000-size/16, 2000))
				})
			}
		}
	}
}

func adapter(kind string, p transports.Pattern) versus.Program {
	tr := map[string]transports.Transport{"tcp": zmq.NewTCP(), "ipc": zmq.NewIPC()}[kind]
	return versus.Program{
		Listen: func(dir string) (string, func() (versus.Side, error), error) {
			l, err := tr.Listen(transports.Options{Dir: dir, Pattern: p})
			if err != nil {
				return "", nil, err
			}
			return l.Endpoint(), func() (versus.Side, error) {
				c, err := l.Accept()
				if err != nil {
					return versus.Side{}, err
				}
				return versus.Side{Send: c.Send, Recv: c.Recv}, nil
			}, nil
		},
		Dial: func(endpoint string) (versus.Side, error) {
			c, err := tr.Dial(endpoint, transports.Options{Pattern: p})
			if err != nil {
				return versus.Side{}, err
			}
			return versus.Side{Send: c.Send, Recv: c.Recv}, nil
		},
	}
}

func bare(kind string, p transports.Pattern) versus.Program {
	side := func(s zmq4.Socket) versus.Side {
		return versus.Side{
			Send: func(b []byte) error { return s.SendMulti(zmq4.NewMsg(b)) },
			Recv: func() ([]byte, error) {
				m, err := s.Recv()
				if err != nil {
					return nil, err
				}
				return m.Frames[0], nil
			},
		}
	}
	return versus.Program{
		Listen: func(dir string) (string, func() (versus.Side, error), error) {
			s := zmq4.NewRep(context.Background())
			if p == transports.Pipelined {
				s = zmq4.NewDealer(context.Background())
			}
			at := "tcp://127.0.0.1:0"
			if kind == "ipc" {
				at = "ipc://" + filepath.Join(dir, "s")
			}
			err := s.Listen(at)
			if err == nil && kind == "tcp" {
				at = "tcp://" + s.Addr().String()
			}
			return at, func() (versus.Side, error) { return side(s), nil }, err
		},
		Dial: func(endpoint string) (versus.Side, error) {
			s := zmq4.NewReq(context.Background())
			if p == transports.Pipelined {
				s = zmq4.NewDealer(context.Background())
			}
			return side(s), s.Dial(endpoint)
		},
	}
}
