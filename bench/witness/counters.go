package witness

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// counters are what the kernel counts for a role, of all its processes and threads.
type counters struct{ switches, migrations, minor, major int64 }

// readCounters adds up the counters of a process. What the system does not tell is left out: migrations need a kernel with
// scheduler debugging.
func (c *counters) read(pid int) {
	dir := fmt.Sprintf("/proc/%d/", pid)
	if text, err := os.ReadFile(dir + "stat"); err == nil {
		// The name of the program, in brackets, may hold anything.
		if f := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:])); len(f) > 9 {
			c.minor += number(f[7])
			c.major += number(f[9])
		}
	}
	threads, err := os.ReadDir(dir + "task")
	if err != nil {
		return
	}
	for _, t := range threads {
		task := dir + "task/" + t.Name() + "/"
		c.switches += field(task+"status", "nonvoluntary_ctxt_switches")
		c.migrations += field(task+"sched", "se.nr_migrations")
	}
}

// field is the number of a line "name : number"; 0 where there is none.
func field(file, name string) int64 {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == name {
			return number(strings.TrimSpace(v))
		}
	}
	return 0
}

func number(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64) // 0 for what is none
	return n
}
