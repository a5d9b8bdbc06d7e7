package main

import (
	"os"
	"os/exec"
	"regexp"
	"testing"
)

// The script as a user runs it, short: what it finds is for a quiet machine to say.
func TestScriptPeers(t *testing.T) {
	if os.Getenv("MSGBENCH_NEED_PEERS") == "" {
		t.Skip("needs the libraries: set MSGBENCH_NEED_PEERS=1")
	}
	out, err := exec.CommandContext(t.Context(), "../../truth", "--pairs", "2", "--window", "50ms", "--only", "ipc, 64").Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	row := regexp.MustCompile(`\| msgbench \S+-ipc/\S+ \| a plain C ping-pong on lib\w+ \| 2 \| [0-9.]+ : [0-9.]+ \| [0-9.]+ \|`)
	if got := len(row.FindAll(out, -1)); got != 3 {
		t.Errorf("%d rows, want 3:\n%s", got, out)
	}
}
