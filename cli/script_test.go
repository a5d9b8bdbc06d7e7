package cli

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"msgbench/bench/areg/aregtest"
	"msgbench/machine"
	"msgbench/pinning"
)

// asProgram makes the test binary msgbench itself, for tests that start it by its own path.
const asProgram = "MSGBENCH_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	aregtest.Main(os.Args[0], os.Args[1:])
	// The processes of a run, too: a test binary that took their words for its own would run all tests again, each of
	// which would start more of them.
	if os.Getenv(asProgram) != "" || len(os.Args) > 1 && (os.Args[1] == "worker" || os.Args[1] == "janitor") {
		os.Exit(Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	testscript.Main(m, map[string]func(){
		"msgbench": func() { os.Exit(Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
	})
}

// raceEnv is GORACE for programs built with the race detector.
const raceEnv = "atexit_sleep_ms=0"

// TestScripts runs the command line as a user does: one topic a file in testdata.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		Deadline:            time.Now().Add(4 * time.Minute),
		RequireUniqueNames:  true,
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			// Endpoints of the runs go here, so that a script can see that none is left.
			e.Setenv("TMPDIR", e.Getenv("WORK")+"/tmp")
			e.Setenv("GORACE", raceEnv) // each process of a run would sleep for a second at its end
			return os.MkdirAll(e.Getenv("WORK")+"/tmp", 0o700)
		},
		// all: what takes long is to be tested too, as scripts/test asks.
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "all":
				return os.Getenv("MSGBENCH_NEED_PEERS") != "", nil
			case "installation": // the machine tells whose it is
				return machine.Installation() != "", nil
			case "root": // with the rights of one
				return pinning.CheckRT(1, false) == nil && pinning.CheckLock() == nil, nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"areg":     cmdAreg,
			"code":     cmdCode,
			"lines":    cmdLines,
			"program":  cmdProgram,
			"nothing":  cmdNothing,
			"waitfor":  cmdWaitFor,
			"within":   cmdWithin,
			"truncate": cmdTruncate,
			"prefix":   cmdPrefix,
			"fixture":  cmdFixture,
		},
	})
}
