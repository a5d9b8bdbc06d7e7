//go:build unix

package nng_test

import (
	"path/filepath"
	"testing"
	"time"

	"go.nanomsg.org/mangos/v3"
	"go.nanomsg.org/mangos/v3/protocol/pair"
	"go.nanomsg.org/mangos/v3/protocol/rep"
	"go.nanomsg.org/mangos/v3/protocol/req"
	_ "go.nanomsg.org/mangos/v3/transport/ipc"
	_ "go.nanomsg.org/mangos/v3/transport/tcp"

	"msgbench/transports"
	"msgbench/transports/internal/mqsock/versus"
	"msgbench/transports/nng"
)

// TestVersusBare measures the adapter against a program that uses the library and its own transports:
//
//	MSGBENCH_VERSUS_ROUNDS=15 go test -run TestVersusBare -v ./transports/nng
func TestVersusBare(t *testing.T) {
	versus.Bare(t, nng.NewTCP(), nng.NewIPC(), bare)
}

func bare(kind string, p transports.Pattern) versus.Program {
	side := func(s mangos.Socket) versus.Side {
		var last *mangos.Message
		return versus.Side{
			Send: func(b []byte) error {
				m := mangos.NewMessage(len(b))
				m.Body = append(m.Body, b...)
				return s.SendMsg(m)
			},
			Recv: func() ([]byte, error) {
				if last != nil {
					last.Free()
				}
				var err error
				if last, err = s.RecvMsg(); err != nil {
					return nil, err
				}
				return last.Body, nil
			},
		}
	}
	socket := func(make func() (mangos.Socket, error)) mangos.Socket {
		if p == transports.Pipelined {
			make = pair.NewSocket
		}
		s, err := make()
		if err != nil {
			panic(err)
		}
		s.SetOption(mangos.OptionRetryTime, time.Duration(0))
		s.SetOption(mangos.OptionMaxRecvSize, 0)
		return s
	}
	return versus.Program{
		Listen: func(dir string) (string, func() (versus.Side, error), error) {
			s := socket(rep.NewSocket)
			at := "tcp://127.0.0.1:0"
			if kind == "ipc" {
				at = "ipc://" + filepath.Join(dir, "s")
			}
			l, err := s.NewListener(at, nil)
			if err == nil {
				err = l.Listen()
			}
			if err != nil {
				return "", nil, err
			}
			if kind == "tcp" {
				at = l.Address()
			}
			return at, func() (versus.Side, error) { return side(s), nil }, nil
		},
		Dial: func(endpoint string) (versus.Side, error) {
			s := socket(req.NewSocket)
			return side(s), s.Dial(endpoint)
		},
	}
}
