package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"msgbench/results"
)

const enginesSuite = `
name: small
samples: 1
duration: 50ms
max-duration: 50ms
warmup: 10ms
reruns: 0
core-ratio: 100
max-ramp: 1000
max-interference: off
calibrate: off
cells:
  - scenario: ping-pong
    transport: [tcp, uds]
    payload: [8, 16, 32, 64]
`

// engineRun is a folder in which the files of scripts/ are run for real, with this program as msgbench.
type engineRun struct {
	dir string
	env []string
}

func newEngineRun(t *testing.T) *engineRun {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the scripts are for a shell")
	}
	long(t)
	t.Parallel()
	e := &engineRun{dir: t.TempDir()}
	bin := filepath.Join(e.dir, "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	e.write(t, "bin/msgbench", "#!/bin/sh\nexport "+asProgram+"=1\nexec "+exe+` "$@"`+"\n")
	e.write(t, "small.yaml", enginesSuite)
	e.env = []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + e.dir, "TMPDIR=" + e.dir, "GORACE=" + raceEnv}
	return e
}

func (e *engineRun) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(e.dir, name), []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// run runs a program with variables beside those that all have, and returns what it printed.
func (e *engineRun) run(t *testing.T, env []string, words ...string) string {
	t.Helper()
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir, cmd.Env = e.dir, append(slices.Clone(e.env), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(words, " "), err, out)
	}
	return string(out)
}

// whole checks that a merged directory has every cell of the suite once, measured.
func (e *engineRun) whole(t *testing.T, dir string) {
	t.Helper()
	d, err := loadRun(filepath.Join(e.dir, dir))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, r := range d.Rows {
		if seen[r.Cell] || r.Verdict == results.Failed || r.Verdict == results.Skipped {
			t.Errorf("%s: %s %s, %s samples", r.Cell, r.Verdict, r.Reason, r.Samples)
		}
		seen[r.Cell] = true
	}
	if len(seen) != 8 {
		t.Errorf("%d cells, want 8: %v", len(seen), seen)
	}
}

// script is a file of scripts/.
func script(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "scripts", name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// decode reads a YAML file of scripts/.
func decode(t *testing.T, name string, into any) {
	t.Helper()
	data, err := os.ReadFile(script(t, name))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}

// TestEngineSlurm runs the batch script as Slurm does, once for each number of the array.
func TestEngineSlurm(t *testing.T) {
	e := newEngineRun(t)
	for i := 3; i <= 4; i++ { // an array may begin anywhere
		out := e.run(t, []string{fmt.Sprintf("SLURM_ARRAY_TASK_ID=%d", i), "SLURM_ARRAY_TASK_MIN=3", "SLURM_ARRAY_TASK_MAX=4", "SLURM_ARRAY_TASK_COUNT=2"},
			"bash", script(t, "slurm.sh"), "small.yaml", "7", "-q")
		if want := fmt.Sprintf("shard %d/2 of a Slurm array", i-2); !strings.Contains(out, want) {
			t.Errorf("without %q: %s", want, out)
		}
	}
	e.run(t, nil, "sh", "-c", "msgbench merge msgbench-shards/small-7/* --out whole")
	e.whole(t, "whole")
	// Without an array, without a suite, and where the part is there already, it fails and touches nothing.
	for _, c := range []struct {
		env, args, want string
	}{
		{"", "small.yaml 7", "not a Slurm array"},
		{"SLURM_ARRAY_TASK_ID=3", "", "usage: sbatch"},
		{"SLURM_ARRAY_TASK_ID=3 SLURM_ARRAY_TASK_MIN=3 SLURM_ARRAY_TASK_MAX=4 SLURM_ARRAY_TASK_COUNT=2", "small.yaml 7", "exists already"},
	} {
		cmd := exec.Command("bash", append([]string{script(t, "slurm.sh")}, strings.Fields(c.args)...)...)
		cmd.Dir, cmd.Env = e.dir, append(slices.Clone(e.env), strings.Fields(c.env)...)
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), c.want) {
			t.Errorf("%q %q: error %v, without %q: %s", c.env, c.args, err, c.want, out)
		}
	}
}

// TestEngineKubernetes runs the command of the job's container as a pod does, once for each index.
func TestEngineKubernetes(t *testing.T) {
	e := newEngineRun(t)
	var job struct {
		Spec struct {
			Completions int
			Template    struct {
				Spec struct {
					Containers []struct {
						Command, Args []string
						Env           []struct{ Name, Value string }
					}
				}
			}
		}
	}
	decode(t, "kubernetes.yaml", &job)
	c := job.Spec.Template.Spec.Containers[0]
	var env []string
	for _, v := range c.Env {
		switch v.Name {
		case "SUITE":
			v.Value = "small.yaml"
		case "RESULTS":
			v.Value = e.dir
		}
		env = append(env, v.Name+"="+v.Value)
	}
	for i := range job.Spec.Completions {
		out := e.run(t, append(slices.Clone(env), fmt.Sprintf("JOB_COMPLETION_INDEX=%d", i)), slices.Concat(c.Command, c.Args)...)
		if want := fmt.Sprintf("shard %d/%d of a Kubernetes Indexed Job", i+1, job.Spec.Completions); !strings.Contains(out, want) {
			t.Errorf("without %q: %s", want, out)
		}
	}
	e.run(t, nil, "sh", "-c", "msgbench merge small.yaml-7/part-* --out whole")
	e.whole(t, "whole")
}

// TestEngineGitHubActions runs the steps of the workflow, as bash with the options that runners give it: those of the matrix
// once for each of its jobs, then those of the merge. Of the actions that a step may use instead, only upload and download do
// something that matters here: the folders are all in one place.
func TestEngineGitHubActions(t *testing.T) {
	e := newEngineRun(t)
	type step struct{ Uses, Run string }
	var w struct {
		Jobs struct {
			Shard struct {
				Strategy struct{ Matrix struct{ Part []int } }
				Env      map[string]string
				Steps    []step
			}
			Merge struct{ Steps []step }
		}
	}
	decode(t, "github-actions.yaml", &w)
	env := []string{"SUITE=small.yaml", "SEED=7", "GITHUB_STEP_SUMMARY=" + filepath.Join(e.dir, "summary.md")}
	steps := func(list []step, more ...string) (out string) {
		for _, s := range list {
			switch {
			case s.Uses != "":
			case strings.HasPrefix(s.Run, "go build -o msgbench "):
				e.write(t, "msgbench", "#!/bin/sh\nexec bin/msgbench \"$@\"\n") // what the tests were built from
			default:
				if strings.Contains(s.Run, "${{") {
					t.Errorf("an expression within a script is an open door: %s", s.Run)
				}
				out += e.run(t, append(slices.Clone(env), more...), "bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", s.Run)
			}
		}
		return out
	}
	total := len(w.Jobs.Shard.Strategy.Matrix.Part)
	for i := range total {
		var more []string
		for name, value := range w.Jobs.Shard.Env {
			value = strings.NewReplacer("${{ strategy.job-index }}", fmt.Sprint(i), "${{ strategy.job-total }}", fmt.Sprint(total)).Replace(value)
			more = append(more, name+"="+value)
		}
		if out, want := steps(w.Jobs.Shard.Steps, more...), fmt.Sprintf("shard %d/%d of the matrix of GitHub Actions", i+1, total); !strings.Contains(out, want) {
			t.Errorf("without %q: %s", want, out)
		}
	}
	steps(w.Jobs.Merge.Steps)
	e.whole(t, "whole")
	if data, err := os.ReadFile(filepath.Join(e.dir, "summary.md")); err != nil || !strings.HasPrefix(string(data), "# msgbench results") {
		t.Errorf("summary: %v: %.100q", err, data)
	}
}

// long skips a test that takes many seconds, unless all is to be tested: `go test ./...` alone stays short.
func long(t *testing.T) {
	t.Helper()
	if os.Getenv("MSGBENCH_NEED_PEERS") == "" {
		t.Skip("takes many seconds: scripts/test sets MSGBENCH_NEED_PEERS")
	}
}
