package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"msgbench/bench/areg/aregtest"
	"msgbench/bench/worker"
)

// faultVar tells a worker of these tests how to misbehave: "role:fault".
const faultVar = "MSGBENCH_TEST_FAULT"

// TestMain makes this test binary the peer of its own runs: a real worker, or one with a fault.
func TestMain(m *testing.M) {
	aregtest.Main(os.Args[0], os.Args[1:])
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "worker":
			exit(faultyWorker(os.Args[2:]))
		case "janitor":
			exit(JanitorMain(os.Args[2], os.Stdin))
		}
	}
	os.Exit(m.Run())
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func faultyWorker(words []string) error {
	role, fault, _ := strings.Cut(os.Getenv(faultVar), ":")
	if !strings.Contains(strings.Join(words, " "), "role="+role+" ") {
		return worker.Main(words, os.Stdin, os.Stdout)
	}
	hang := func() { time.Sleep(time.Hour) }
	switch fault {
	case "dies at once":
		fmt.Fprintln(os.Stderr, "cannot go on")
		os.Exit(7)
	case "hangs at once":
		hang()
	case "dies at its start":
		return worker.Main(words, diesAtStart{os.Stdin}, os.Stdout)
	case "deaf":
		return worker.Main(words, deafIn{}, os.Stdout)
	case "nonsense":
		fmt.Println("lorem ipsum")
		hang()
	case "bad json":
		fmt.Println("ready {endpoint")
		hang()
	case "no endpoint":
		fmt.Println(`ready {}`)
		hang()
	case "prints for ever":
		for chunk := bytes.Repeat([]byte("x"), 1<<20); ; {
			os.Stdout.Write(chunk)
		}
	case "many lines":
		for {
			os.Stdout.WriteString(strings.Repeat("x\n", 1<<16))
		}
	}
	return worker.Main(words, os.Stdin, &lineHook{fault: fault, out: os.Stdout})
}

// diesAtStart ends the process once the runner says start, which it does when all roles are connected.
type diesAtStart struct{ io.Reader }

func (d diesAtStart) Read(b []byte) (int, error) {
	n, err := d.Reader.Read(b)
	if bytes.Contains(b[:n], []byte("start ")) {
		os.Exit(7)
	}
	return n, err
}

// deafIn is a standard input that never says anything, and never ends.
type deafIn struct{}

func (deafIn) Read([]byte) (int, error) { select {} }

// lineHook changes what a real worker does when it prints a certain line.
type lineHook struct {
	fault string
	out   io.Writer
}

func (h *lineHook) Write(line []byte) (int, error) {
	word, _, _ := strings.Cut(strings.TrimSpace(string(line)), " ")
	switch h.fault + " " + word {
	case "dies in the window measuring":
		time.AfterFunc(20*time.Millisecond, func() { os.Exit(7) })
	case "hangs in the window measuring":
		h.out.Write(line)
		time.Sleep(time.Hour)
	case "dies before its result result":
		os.Exit(7)
	case "no operation result":
		line = []byte("result {\"window_ns\":1000}\n")
	case "negative latency result":
		line = []byte(`result {"window_ns":1000,"ops":1,"latency_hist":{"min":-5,"max":1,"sum":1,"values":[[1,1]]}}` + "\n")
	case "a short window result":
		line = changed(line, func(m map[string]any) { m["window_ns"] = 1_000_000 })
	case "a short stream result":
		line = changed(line, func(m map[string]any) {
			m["window_ns"] = 1_000_000
			m["series"].(map[string]any)["received"] = []any{orZero(m["received"])}
		})
	case "a long warm-up result":
		line = changed(line, func(m map[string]any) { m["warmup_ns"] = 3_600_000_000_000 })
	case "CPU time of nobody result":
		line = changed(line, func(m map[string]any) { m["cpu_ns"].(map[string]any)["subscriber"] = 1 })
	case "CPU time of a hundred result":
		line = changed(line, func(m map[string]any) { m["cpu_ns"].(map[string]any)["server"] = 3_600_000_000_000 })
	case "figures of others result":
		line = changed(line, func(m map[string]any) { m["rss_bytes"] = map[string]any{"server": 1} })
	case "an odd fact result":
		line = changed(line, func(m map[string]any) { m["facts"].(map[string]any)["odd"] = "two\nlines" })
	case "many hops result":
		line = changed(line, func(m map[string]any) { m["hops"] = 3 })
	case "routed result":
		line = changed(line, func(m map[string]any) { m["series"] = map[string]any{"step_ns": 1e8, "routed": []int{1}} })
	case "fewer received result":
		line = changed(line, func(m map[string]any) { m["received"] = orZero(m["received"]) - 1 })
	case "a loss in its place result":
		line = changed(line, func(m map[string]any) { m["received"], m["lost"] = orZero(m["received"])-1, 1 })
	case "talks on result":
		line = append(line, "measuring\n"...)
	case "fails on result":
		line = append(line, "error {\"reason\":\"it broke\"}\n"...)
	case "64 MiB result":
		h.out.Write(line)
		for range 64 {
			h.out.Write(bytes.Repeat([]byte("x\n"), 1<<19))
		}
		line = nil
	case "64 MiB of noise measuring":
		for range 64 {
			os.Stderr.Write(bytes.Repeat([]byte("x\n"), 1<<19))
		}
	case "some latencies result":
		line = changed(line, func(m map[string]any) {
			m["latency_hist"] = map[string]any{"min": 5, "max": 5, "sum": 5, "values": [][2]int{{5, 1}}}
		})
	case "no latencies result":
		line = changed(line, func(m map[string]any) { delete(m, "latency_hist") })
	case "no thirds result":
		line = changed(line, func(m map[string]any) { delete(m, "thirds") })
	case "a loss result":
		line = changed(line, func(m map[string]any) { m["lost"] = 1 })
	case "too few replies result":
		line = changed(line, func(m map[string]any) { m["received"] = 1 })
	case "no lateness result":
		line = changed(line, func(m map[string]any) { delete(m, "lateness_hist") })
	case "never ends result":
		h.out.Write(line)
		time.Sleep(time.Hour)
	case "stops itself result":
		h.out.Write(line)
		os.Exit(5)
	}
	return h.out.Write(line)
}

// orZero is a field that is left out where it is 0, as on a machine so busy that nothing came in the window.
func orZero(field any) float64 {
	f, _ := field.(float64)
	return f
}

// changed is a result line with another result.
func changed(line []byte, change func(map[string]any)) []byte {
	word, text, _ := bytes.Cut(line, []byte(" "))
	m := map[string]any{}
	if err := json.Unmarshal(text, &m); err != nil {
		panic(err)
	}
	change(m)
	text, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return slices.Concat(word, []byte(" "), text, []byte("\n"))
}
