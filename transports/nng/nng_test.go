package nng_test

import (
	"testing"

	"msgbench/transports/nng"
	"msgbench/transports/transporttest"
)

func TestTCPConformance(t *testing.T) { transporttest.Run(t, nng.NewTCP()) }

func TestIPCConformance(t *testing.T) { transporttest.Run(t, nng.NewIPC()) }
