package witness

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// line is one of /proc/PID/stat.
func line(pid string, self, children, start int) []byte {
	return fmt.Appendf(nil, "%s (a ) b) S 1 1 1 0 -1 4194304 1 2 3 4 %d %d %d %d 20 0 1 0 %d 1 1", pid, self, 1, children, 2, start)
}

func TestSince(t *testing.T) {
	type process struct {
		pid                   string
		self, children, start int
	}
	read := func(all []process) processes {
		p := processes{}
		for _, x := range all {
			p.add(x.pid, line(x.pid, x.self, x.children, x.start))
		}
		return p
	}
	for _, c := range []struct {
		name          string
		before, after []process
		ticks         int64
	}{
		{"nobody did anything", []process{{"1", 100, 50, 7}, {"9", 3, 0, 8}}, []process{{"1", 100, 50, 7}, {"9", 3, 0, 8}}, 0},
		{"one that goes on", []process{{"1", 100, 50, 7}, {"9", 3, 0, 8}}, []process{{"1", 100, 50, 7}, {"9", 23, 0, 8}}, 20},
		{"a new one", []process{{"1", 100, 50, 7}}, []process{{"1", 100, 50, 7}, {"9", 4, 0, 8}}, 4 + 1 + 2},
		{"one that came and went, and was waited for", []process{{"1", 100, 50, 7}}, []process{{"1", 100, 80, 7}}, 30},
		{"one that went, and was waited for", []process{{"1", 100, 50, 7}, {"9", 20, 0, 8}}, []process{{"1", 100, 50 + 20 + 1 + 2 + 5, 7}}, 5},
		{"one that went, and nobody has its time", []process{{"1", 100, 50, 7}, {"9", 1000, 0, 8}}, []process{{"1", 104, 50, 7}}, 4},
		{"its number given to another", []process{{"1", 100, 50, 7}, {"9", 1000, 0, 8}}, []process{{"1", 100, 50, 7}, {"9", 6, 0, 99}}, 7},
	} {
		if got := read(c.after).since(read(c.before)); got != c.ticks*int64(tick) {
			t.Errorf("%s: %d ticks, want %d", c.name, got/int64(tick), c.ticks)
		}
	}
	p := processes{}
	p.add("3", []byte("3 (cut sho"))
	p.add("3", []byte("3 (cut short) S 1"))
	if len(p) != 0 {
		t.Errorf("a line cut short is read as %v", p)
	}
}

func TestReadProcesses(t *testing.T) {
	all := readProcesses(nil)
	if all == nil {
		if text, err := os.ReadFile("/proc/2/comm"); err == nil && string(text) == "kthreadd\n" {
			t.Fatal("all processes can be seen, and none are read")
		}
		return // in a container, or not on Linux
	}
	if without := readProcesses([]int{os.Getpid()}); len(all) < 2 || len(without) == 0 {
		t.Errorf("%d processes, %d without this one", len(all), len(without))
	} else {
		for id := range without {
			if strings.HasPrefix(id, fmt.Sprint(os.Getpid(), " ")) {
				t.Error("this process is not left out")
			}
		}
	}
}
