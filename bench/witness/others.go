package witness

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"strings"
)

// mostProcesses is up to how many processes are looked at, some 10 µs each.
const mostProcesses = 4000

// spent is what a process has used of CPUs, in the kernel's steps of 10 ms: by itself, and with the children that it has waited for.
type spent struct{ self, all int64 }

// processes are all processes of the system but those of a sample, by number and start.
type processes map[string]spent

// readProcesses returns nil where this process can't be sure to see all of them: within a container, where /proc hides those of
// others, and where there are very many.
func readProcesses(not []int) processes {
	if text, err := os.ReadFile("/proc/2/stat"); err != nil || !bytes.HasPrefix(text, []byte("2 (kthreadd) ")) {
		return nil
	}
	entries, err := os.ReadDir("/proc")
	if err != nil || len(entries) > mostProcesses {
		return nil
	}
	p := processes{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || slices.Contains(not, pid) {
			continue
		}
		if text, err := os.ReadFile("/proc/" + e.Name() + "/stat"); err == nil { // else it has just ended
			p.add(e.Name(), text)
		}
	}
	return p
}

// add reads a line of /proc/PID/stat, see proc_pid_stat(5).
func (p processes) add(pid string, text []byte) {
	// The name of the program, in brackets, may hold anything. After it: state … utime (14th of the line) stime cutime cstime
	// priority nice num_threads itrealvalue starttime.
	f := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(f) < 20 {
		return
	}
	self := number(f[11]) + number(f[12])
	p[pid+" "+f[19]] = spent{self, self + number(f[13]) + number(f[14])}
}

// since is what they used after an earlier reading, in ns: at most a step less, or some more, for each that was busy. What ended
// meanwhile is in the time of who has waited for it, and left out where nobody has.
func (p processes) since(earlier processes) int64 {
	var living, all int64
	for id, s := range p {
		living += s.self - earlier[id].self
		all += s.all
	}
	for _, s := range earlier {
		all -= s.all
	}
	return max(living, all, 0) * int64(tick)
}
