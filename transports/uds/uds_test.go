package uds

import (
	"testing"

	"msgbench/transports/transporttest"
)

func TestConformance(t *testing.T) { transporttest.Run(t, New(), transporttest.NoAllocs) }
