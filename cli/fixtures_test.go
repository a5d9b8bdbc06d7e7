package cli

import (
	"github.com/rogpeppe/go-internal/testscript"

	"msgbench/report/source/sourcetest"
)

// steady are samples of so many operations a second, half a per cent apart.
func steady(ops int64) []int64 {
	return []int64{ops, ops * 1003 / 1000, ops * 998 / 1000, ops * 1001 / 1000, ops * 999 / 1000, ops * 1002 / 1000}
}

var fixtures = map[string][]sourcetest.Cell{
	"base": {
		sourcetest.PingPong("shm", 8, 0, steady(1_000_000)...), sourcetest.PingPong("tcp", 8, 0, steady(100_000)...),
		sourcetest.PingPong("uds", 8, 0, steady(200_000)...),
	},
	"slow": {
		sourcetest.PingPong("shm", 8, 0, steady(500_000)...), sourcetest.PingPong("tcp", 8, 0, steady(101_000)...),
		sourcetest.PingPong("pipe", 8, 0, steady(300_000)...),
	},
	"failed": {
		sourcetest.PingPong("shm", 8, 0, steady(1_000_000)...), {Cell: sourcetest.PingPong("tcp", 8, 0).Cell, Failed: "server died"},
	},
	"unstable": {
		sourcetest.PingPong("shm", 8, 0, 100, 200, 400, 800, 1600), sourcetest.PingPong("tcp", 8, 0),
	},
	// Two sides: shm at 8 and 64 B, which is half as fast.
	"sides": {
		sourcetest.PingPong("shm", 8, 0, steady(1_000_000)...), sourcetest.PingPong("shm", 64, 0, steady(500_000)...),
		sourcetest.PingPong("tcp", 8, 0, steady(100_000)...), sourcetest.PingPong("tcp", 64, 0, steady(100_100)...),
	},
}

// cmdFixture is `fixture NAME DIR`: writes a run directory with fixed figures.
func cmdFixture(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 || fixtures[args[0]] == nil {
		ts.Fatalf("usage: fixture base|slow|failed|unstable|sides dir")
	}
	dir := ts.MkAbs(args[1])
	ts.Check(sourcetest.Write(dir, fixtures[args[0]]...))
	if args[0] == "sides" {
		ts.Check(sourcetest.Against(dir, "payload", "8", "64", [2]int{0, 1}, [2]int{2, 3}))
	}
}
