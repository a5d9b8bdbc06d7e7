//go:build unix

package zmq_test

import (
	"context"
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
	versus.Bare(t, zmq.NewTCP(), zmq.NewIPC(), bare)
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
