//go:build !race

package compare

import (
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"msgbench/report/source"
	"msgbench/report/source/sourcetest"
)

// Two runs of 2,000 cells × 7 samples, half of them at a fixed rate, with histograms of 200 buckets: about 90 MB of
// journals. The goal is 3 s; it takes 1.1 s of CPU, and with 1,000 buckets (420 MB) 3.7 s, spread over two cores by the
// command. CPU time is what counts here, since tests share the machine; the race detector would make it a test of itself.
func TestSpeed(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 90 MB")
	}
	dir := t.TempDir()
	k := []int64{1000, 1000, 1000, 1000, 1000, 1000, 1000}
	for _, name := range []string{"old", "new"} {
		var cells []sourcetest.Cell
		for i := range 1000 {
			for _, c := range []sourcetest.Cell{sourcetest.PingPong("shm", i, 0, append(steady(1_000_000), 1_000_000)...), sourcetest.PingPong("shm", i, 1000, k...)} {
				c.Buckets = 200
				cells = append(cells, c)
			}
		}
		if err := sourcetest.Write(filepath.Join(dir, name), cells...); err != nil {
			t.Fatal(err)
		}
	}
	begun := cpuTime(t)
	old, err := source.Load(filepath.Join(dir, "old"))
	if err != nil {
		t.Fatal(err)
	}
	new, err := source.Load(filepath.Join(dir, "new"))
	if err != nil {
		t.Fatal(err)
	}
	loaded := cpuTime(t) - begun
	r, err := Compare(old, new, 0.05)
	if err != nil || len(r.Cells) != 2000 {
		t.Fatal(err, len(r.Cells))
	}
	if _, err := Write(r, "text"); err != nil {
		t.Fatal(err)
	}
	took := cpuTime(t) - begun
	t.Logf("%s of CPU, of it reading %s", took, loaded)
	if took > 6*time.Second {
		t.Errorf("comparing took %s of CPU, want about 3 s", took)
	}
}

// cpuTime is what this process has used so far, user and system.
func cpuTime(t testing.TB) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
