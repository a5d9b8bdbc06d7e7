// Package schema holds the files of scripts/ that other programs read against those programs' own types and rules. It is a
// module of its own, so that what that takes is no dependency of msgbench.
package schema

import (
	"errors"
	"io"
	"os"
	"testing"

	"github.com/rhysd/actionlint"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// strict decodes YAML into a type of Kubernetes, with its very decoder: no unknown key, none twice, none in other letters.
func strict(data []byte, into any) error {
	text, err := yaml.YAMLToJSONStrict(data)
	if err != nil {
		return err
	}
	unknown, err := json.UnmarshalStrict(text, into)
	return errors.Join(append(unknown, err)...)
}

// TestKubernetes decodes the job as the API server does with strict field validation, and checks the rules that a type can't
// say and that server would refuse.
func TestKubernetes(t *testing.T) {
	var job batch.Job
	if err := strict(read(t, "../kubernetes.yaml"), &job); err != nil {
		t.Fatal(err)
	}
	s := job.Spec
	if job.APIVersion != "batch/v1" || job.Kind != "Job" || job.Name == "" {
		t.Errorf("%s %s %q", job.APIVersion, job.Kind, job.Name)
	}
	if s.CompletionMode == nil || *s.CompletionMode != batch.IndexedCompletion || s.Completions == nil || s.Parallelism == nil || *s.Parallelism > *s.Completions {
		t.Errorf("not an Indexed Job with completions and parallelism: %+v", s)
	}
	pod := s.Template.Spec
	if pod.RestartPolicy != core.RestartPolicyNever {
		t.Errorf("restartPolicy %q: a job's is Never or OnFailure, and the run directory must not be there yet", pod.RestartPolicy)
	}
	volumes := map[string]bool{}
	for _, v := range pod.Volumes {
		volumes[v.Name] = true
	}
	for _, c := range pod.Containers {
		if c.Name == "" || c.Image == "" {
			t.Errorf("container %q of image %q", c.Name, c.Image)
		}
		for _, m := range c.VolumeMounts {
			if !volumes[m.Name] {
				t.Errorf("the volume %q is none of %v", m.Name, volumes)
			}
		}
		for name, want := range c.Resources.Requests {
			if got := c.Resources.Limits[name]; got.Cmp(want) != 0 {
				t.Errorf("%s: limit %s, request %s: the CPUs would not be the pod's own", name, got.String(), want.String())
			}
		}
	}
	for _, term := range pod.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
		for k, v := range term.LabelSelector.MatchLabels {
			if s.Template.Labels[k] != v {
				t.Errorf("the pods don't have the label %s=%s that keeps them apart", k, v)
			}
		}
	}
}

// TestKubernetesStrict shows that the decoding refuses what is misspelt.
func TestKubernetesStrict(t *testing.T) {
	for _, text := range []string{"spec: {completionmode: Indexed}", "spec: {completions: four}",
		"spec: {template: {spec: {container: []}}}", "spec: {completions: 1, completions: 2}"} {
		var job batch.Job
		if err := strict([]byte(text), &job); err == nil {
			t.Errorf("%s was taken", text)
		}
	}
}

// TestGitHubActions lints the workflow: syntax, keys, expressions and their types, inputs of the actions that are used.
func TestGitHubActions(t *testing.T) {
	lint := func(data []byte) []*actionlint.Error {
		t.Helper()
		l, err := actionlint.NewLinter(io.Discard, &actionlint.LinterOptions{})
		if err != nil {
			t.Fatal(err)
		}
		found, err := l.Lint("github-actions.yaml", data, nil)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	data := read(t, "../github-actions.yaml")
	for _, e := range lint(data) {
		t.Error(e)
	}
	if len(lint(append(data, "  broken:\n    runs-on: ${{ strategy.nonsense }}\n"...))) == 0 {
		t.Error("the linter finds no mistake where there are two")
	}
}
