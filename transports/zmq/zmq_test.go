package zmq_test

import (
	"testing"

	"msgbench/transports/transporttest"
	"msgbench/transports/zmq"
)

func TestTCPConformance(t *testing.T) { transporttest.Run(t, zmq.NewTCP()) }

func TestIPCConformance(t *testing.T) { transporttest.Run(t, zmq.NewIPC()) }
