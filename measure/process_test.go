package measure

import (
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"
)

// TestMain doubles as a child that burns CPU on two threads, or that just sleeps, until it is killed.
func TestMain(m *testing.M) {
	switch os.Getenv("MEASURE_TEST_CHILD") {
	case "burn":
		for range 2 {
			go func() {
				for {
				}
			}()
		}
		select {}
	case "idle":
		time.Sleep(time.Minute)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func child(t *testing.T, what string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "MEASURE_TEST_CHILD="+what)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	return cmd
}

func TestOwnCPU(t *testing.T) {
	c, err := ProcessCPU(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	before, err := c.Read()
	if err != nil || before <= 0 {
		t.Fatalf("%d ns, %v", before, err)
	}
	for end := Now() + int64(time.Second); ; {
		now, err := c.Read()
		if err != nil {
			t.Fatal(err)
		}
		if now > before {
			break
		}
		if now < before {
			t.Fatalf("went back from %d to %d ns", before, now)
		}
		if Now() > end {
			t.Fatal("did not move in a second of work")
		}
	}
}

func TestCPUOfAnother(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux reads the CPU clock of another process exactly")
	}
	burning, err := ProcessCPU(child(t, "burn").Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	idle, err := ProcessCPU(child(t, "idle").Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	// Enough to outweigh the start of both; how long that takes depends on the machine.
	for end := Now() + int64(20*time.Second); ; time.Sleep(10 * time.Millisecond) {
		b, err := burning.Read()
		if err != nil {
			t.Fatal(err)
		}
		if b > int64(300*time.Millisecond) {
			break
		}
		if Now() > end {
			t.Fatalf("a busy process used %d ns in 20 s", b)
		}
	}
	if i, err := idle.Read(); err != nil || i > int64(150*time.Millisecond) {
		t.Errorf("a sleeping process used %d ns, %v", i, err)
	}
}

func TestCPUOfNoProcess(t *testing.T) {
	for _, pid := range []int{0, -1, -12345, 1 << 40} {
		if _, err := ProcessCPU(pid); err == nil {
			t.Errorf("pid %d has a clock", pid)
		}
	}
	if runtime.GOOS != "linux" {
		return
	}
	cmd := child(t, "idle")
	c, err := ProcessCPU(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Process.Kill()
	cmd.Wait()
	if ns, err := c.Read(); err == nil {
		t.Errorf("an ended process has used %d ns", ns)
	}
	if _, err := ProcessCPU(cmd.Process.Pid); err == nil {
		t.Error("an ended process has a clock")
	}
}

func TestCPUAllocates(t *testing.T) {
	c, err := ProcessCPU(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() { c.Read() }); n != 0 {
		t.Errorf("%v allocations a reading", n)
	}
}

func TestResidentBytes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("not there")
	}
	n, err := ResidentBytes(os.Getpid())
	if err != nil || n < 1<<20 {
		t.Errorf("%d bytes, %v", n, err)
	}
	if _, err := ResidentBytes(-1); err == nil {
		t.Error("process -1 has a size")
	}
}

func TestGCReader(t *testing.T) {
	r := NewGCReader()
	before := r.Read()
	keep := make([][]byte, 0, 100_000)
	for range cap(keep) {
		keep = append(keep, make([]byte, 64))
	}
	runtime.GC()
	d := r.Read().Since(before)
	runtime.KeepAlive(keep)
	if d.Cycles < 1 {
		t.Errorf("%d collections after runtime.GC", d.Cycles)
	}
	if d.Mallocs < 90_000 || d.Mallocs > 200_000 {
		t.Errorf("%d objects for 100,000", d.Mallocs)
	}
	if n := testing.AllocsPerRun(100, func() { r.Read() }); n != 0 {
		t.Errorf("%v allocations a reading", n)
	}
}

func TestResolution(t *testing.T) {
	step, cost := Resolution(100_000)
	if step < 1 || step > int64(time.Second) || cost < 0 || cost > int64(time.Millisecond) {
		t.Errorf("step %d ns, cost %d ns", step, cost)
	}
}
