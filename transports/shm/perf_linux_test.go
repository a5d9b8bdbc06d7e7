package shm

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"msgbench/transports"
)

// perfEnv turns on the tests that are measurements: MSGBENCH_PERF=1 go test -v -run Ratio ./transports/shm
const perfEnv = "MSGBENCH_PERF"

func perf(t *testing.T) int {
	t.Helper()
	n, _ := strconv.Atoi(os.Getenv(perfEnv))
	if n == 0 {
		t.Skip(perfEnv + " is not set: a measurement, for a quiet machine")
	}
	return max(n, 7)
}

// buildC compiles one of our programs in scripts/perf.
func buildC(t *testing.T, name string) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), name)
	out, err := exec.Command("cc", "-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-o", bin, "../../scripts/perf/"+name+".c").CombinedOutput()
	if err != nil {
		t.Fatalf("cc: %v\n%s", err, out)
	}
	return bin
}

// runC returns the number behind key= in the output of a C program.
func runC(t *testing.T, key, bin string, args ...any) float64 {
	t.Helper()
	var words []string
	for _, a := range args {
		words = append(words, fmt.Sprint(a))
	}
	out, err := exec.Command(bin, words...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", bin, err, out)
	}
	for _, f := range strings.Fields(string(out)) {
		if v, ok := strings.CutPrefix(f, key+"="); ok {
			x, err := strconv.ParseFloat(v, 64)
			if err != nil {
				t.Fatal(err)
			}
			return x
		}
	}
	t.Fatalf("%s: no %s in %q", bin, key, out)
	return 0
}

func median(x []float64) float64 {
	x = slices.Clone(x)
	slices.Sort(x)
	return (x[len(x)/2] + x[(len(x)-1)/2]) / 2
}

// TestRatioToC holds the round trip of 8 B of payload against two bounced cache lines in C: interleaved rounds, the
// median of the ratios round by round. The C side is the faster of its two ways to spin.
func TestRatioToC(t *testing.T) {
	rounds := perf(t)
	a, b := twoCPUs(t)
	bin := buildC(t, "bounce")
	const n = 50_000 // short, so that other load on the machine spoils some rounds and not all
	for _, wait := range []transports.Wait{transports.Hybrid, transports.Spin} {
		var ratios, cs, gos []float64
		for range rounds {
			c := min(runC(t, "p50_ns", bin, n, a, b, 0), runC(t, "p50_ns", bin, n, a, b, 1))
			g, _ := role{Options: transports.Options{Wait: wait}, Size: 40, N: n}.run(t, a, b)
			cs, gos = append(cs, c), append(gos, float64(g.P50NS))
			ratios = append(ratios, float64(g.P50NS)/c)
		}
		t.Logf("wait=%s: p50 %.0f ns, C %.0f ns, median ratio %.2f, all %.2f", wait, median(gos), median(cs), median(ratios), ratios)
		if m := median(ratios); m > 2 {
			t.Errorf("wait=%s: %.2f times the round trip of the C program, at most 2", wait, m)
		}
	}
}

// TestStreamRatioToC holds the rate of a one-way stream against a plain ring of bytes in C.
func TestStreamRatioToC(t *testing.T) {
	rounds := perf(t)
	a, b := twoCPUs(t)
	bin := buildC(t, "stream")
	for _, x := range []struct{ size, n int }{{40, 1_000_000}, {96, 1_000_000}, {1024, 300_000}, {4096, 100_000}, {64 << 10, 10_000}} {
		var ratios, cs, gos []float64
		for range rounds {
			c := runC(t, "messages_per_s", bin, x.size, x.n, a, b)
			g, _ := role{Stream: true, Size: x.size, N: x.n}.run(t, a, b)
			cs, gos, ratios = append(cs, c), append(gos, g.PerSecond), append(ratios, g.PerSecond/c)
		}
		m := median(gos)
		t.Logf("%6d B: %.2f M/s, %.0f MB/s, C %.2f M/s, best %.2f and %.2f M/s, median ratio %.2f, all %.2f",
			x.size, m/1e6, m*float64(x.size)/1e6, median(cs)/1e6, slices.Max(gos)/1e6, slices.Max(cs)/1e6, median(ratios), ratios)
	}
}
