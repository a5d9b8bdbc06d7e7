package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Two real builds, one of which waits 5 ms in each request: the other is better, whichever of them is the baseline. The
// delay is some fifty times what a request takes, so that it shows on a loaded machine too.
func TestSlowBuild(t *testing.T) {
	if os.Getenv("MSGBENCH_NEED_PEERS") == "" {
		t.Skip("builds msgbench twice: MSGBENCH_NEED_PEERS is not set, scripts/test sets it")
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	source := filepath.Join(root, "scenarios", "pingpong.go")
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	const before = "\tp.message.put(p.seq + 1)\n"
	slowed := strings.Replace(string(text), before, before+"\ttime.Sleep(5 * time.Millisecond)\n", 1)
	if slowed == string(text) {
		t.Fatal("the place for the delay is not in pingpong.go any more")
	}
	slowed = strings.Replace(slowed, "import (\n", "import (\n\t\"time\"\n\n", 1)
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {source: filepath.Join(dir, "pingpong.go")}})
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"pingpong.go": []byte(slowed), "overlay.json": overlay, "suite.yaml": []byte(slowSuite)} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, args := range map[string][]string{"fast": nil, "slow": {"-overlay", filepath.Join(dir, "overlay.json")}} {
		cmd := exec.Command("go", append(append([]string{"build"}, args...), "-o", filepath.Join(dir, name), ".")...)
		cmd.Dir = root
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("build %s: %v\n%s", name, err, out)
		}
	}
	for _, tt := range []struct {
		program, baseline, outcome string
		code                       int
	}{{"fast", "slow", " better ", 0}, {"slow", "fast", " worse ", exitBroken}} {
		cmd := exec.Command(filepath.Join(dir, tt.program), "run", "suite.yaml", "--baseline-binary", tt.baseline,
			"--out", "run-"+tt.program, "-q", "--fail-on", "worse:50%")
		cmd.Dir = dir
		var out, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &stderr
		code := 0
		var exit *exec.ExitError
		if err := cmd.Run(); errors.As(err, &exit) {
			code = exit.ExitCode()
		} else if err != nil {
			t.Fatal(err)
		}
		if code != tt.code || strings.Count(out.String(), "\n"+tt.outcome) != 1 {
			t.Errorf("%s with the baseline %s: exit code %d, want %d and a line with%q\n%s%s", tt.program, tt.baseline, code, tt.code,
				tt.outcome, out.String(), stderr.String())
		}
	}
}

const slowSuite = `name: slow
samples: 5
max-duration: 200ms
warmup: 0s
core-ratio: 100
max-ramp: 1000
reruns: 0
cells:
  - {scenario: ping-pong, transport: pipe, payload: 64}
`
