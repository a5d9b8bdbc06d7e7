package pinning

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

func TestCheckRT(t *testing.T) {
	for _, c := range []struct {
		us    string
		alone bool
		want  string
	}{
		{"950000", false, ""},
		{"950000", true, ""},
		{"-1", true, ""},
		{"-1", false, "a spinning worker could never be stopped"},
		{"0", true, "grants real-time processes no time"},
	} {
		err := checkLimit(c.us, c.alone)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, alone %v: %v, want %q", c.us, c.alone, err, c.want)
		}
	}
	for _, p := range []int{0, -1, 100} {
		if CheckRT(p, true) == nil {
			t.Errorf("priority %d is taken", p)
		}
	}
}

func TestCheckLock(t *testing.T) {
	for _, c := range []struct {
		limit uint64
		can   bool
		ok    bool
	}{{8 << 20, false, false}, {8 << 20, true, true}, {lockRoom, false, true}, {^uint64(0), false, true}} {
		if err := checkLock(c.limit, c.can); (err == nil) != c.ok || err != nil && !strings.Contains(err.Error(), "CAP_IPC_LOCK") {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// What is started has the policy in all its threads, or is refused for want of rights; the spawner's thread has it no more.
func TestStartRT(t *testing.T) {
	s := NewSpawner()
	defer s.Close()
	const priority = 3
	if CheckRT(priority, false) != nil {
		cmd := exec.Command("/bin/true")
		if err := s.Start(cmd, Options{RT: priority}); err == nil || cmd.Process != nil {
			t.Fatalf("started without rights: %v", err)
		}
		return
	}
	cmd, _ := begin(t, s, Options{RT: priority})
	got, err := ReadScheduling(cmd.Process.Pid)
	if err != nil || got.RT != priority {
		t.Errorf("%+v, %v", got, err)
	}
	cmd, _ = begin(t, s, Options{})
	if got, err := ReadScheduling(cmd.Process.Pid); err != nil || got.RT != 0 {
		t.Errorf("the next one: %+v, %v", got, err)
	}
	if got, err := ReadScheduling(os.Getpid()); err != nil || got.RT != 0 || got.Locked != 0 {
		t.Errorf("this process: %+v, %v", got, err)
	}
}
