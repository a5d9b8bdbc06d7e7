package shm_test

import (
	"testing"

	"msgbench/transports/shm"
	"msgbench/transports/transporttest"
)

func TestConformance(t *testing.T) { transporttest.Run(t, shm.New(), transporttest.NoAllocs) }
