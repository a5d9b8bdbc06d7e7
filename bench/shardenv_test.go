package bench

import (
	"strings"
	"testing"
)

func TestResolveShard(t *testing.T) {
	for _, c := range []struct {
		ask, env string // env: NAME=VALUE words
		want     string // shard
		say      string // in what is said, or in the error
	}{
		{"2/4", "JOB_COMPLETION_INDEX=0", "2/4", ""},
		{"auto/4", "JOB_COMPLETION_INDEX=0", "1/4", "shard 1/4 of a Kubernetes Indexed Job: JOB_COMPLETION_INDEX=0, the first being 0, and 4 given"},
		{"auto", "JOB_COMPLETION_INDEX=3 JOB_COMPLETIONS=4", "4/4", "JOB_COMPLETION_INDEX=3, the first being 0, and JOB_COMPLETIONS=4"},
		{"auto/4", "JOB_COMPLETION_INDEX=3 JOB_COMPLETIONS=4", "4/4", "JOB_COMPLETIONS=4"},
		{"auto", "STRATEGY_JOB_INDEX=1 STRATEGY_JOB_TOTAL=3", "2/3", "shard 2/3 of the matrix of GitHub Actions: STRATEGY_JOB_INDEX=1"},
		{"auto", "SLURM_ARRAY_TASK_ID=1 SLURM_ARRAY_TASK_COUNT=4 SLURM_ARRAY_TASK_MIN=1 SLURM_ARRAY_TASK_MAX=4", "1/4",
			"shard 1/4 of a Slurm array: SLURM_ARRAY_TASK_ID=1, the first being 1, and SLURM_ARRAY_TASK_COUNT=4"},
		{"auto", "SLURM_ARRAY_TASK_ID=3 SLURM_ARRAY_TASK_COUNT=4 SLURM_ARRAY_TASK_MIN=0 SLURM_ARRAY_TASK_MAX=3", "4/4", "the first being 0"},

		{"auto", "", "", "auto: none of JOB_COMPLETION_INDEX, STRATEGY_JOB_INDEX, SLURM_ARRAY_TASK_ID is set: say i/n"},
		{"auto", "JOB_COMPLETION_INDEX=", "", "none of"},
		{"auto", "JOB_COMPLETION_INDEX=0 SLURM_ARRAY_TASK_ID=0", "", "auto: JOB_COMPLETION_INDEX and SLURM_ARRAY_TASK_ID are both set: say i/n"},
		{"auto", "JOB_COMPLETION_INDEX=0", "", "JOB_COMPLETION_INDEX=0, but no JOB_COMPLETIONS: say auto/n, or set that to the job's completions"},
		{"auto/5", "JOB_COMPLETION_INDEX=0 JOB_COMPLETIONS=4", "", "auto/5: 5 shards are asked for, but JOB_COMPLETIONS=4"},
		{"auto/4", "JOB_COMPLETION_INDEX=4", "", "and 4 given: no such shard"},
		{"auto/4", "JOB_COMPLETION_INDEX=-1", "", `JOB_COMPLETION_INDEX is "-1", want a number from 0`},
		{"auto/4", "JOB_COMPLETION_INDEX=one", "", `JOB_COMPLETION_INDEX is "one", want a number from 0`},
		{"auto", "JOB_COMPLETION_INDEX=0 JOB_COMPLETIONS=0", "", "no JOB_COMPLETIONS"},
		{"auto", "SLURM_ARRAY_TASK_ID=1 SLURM_ARRAY_TASK_COUNT=4", "", `SLURM_ARRAY_TASK_MIN is "", want a number from 0`},
		{"auto", "SLURM_ARRAY_TASK_ID=5 SLURM_ARRAY_TASK_COUNT=2 SLURM_ARRAY_TASK_MIN=1 SLURM_ARRAY_TASK_MAX=5", "", "from 1 to 5 with gaps"},
		{"auto/0", "JOB_COMPLETION_INDEX=0", "", `"auto/0": want auto, or auto/n with n from 1`},
		{"auto/x", "JOB_COMPLETION_INDEX=0", "", `"auto/x": want auto`},
		{"automatic", "JOB_COMPLETION_INDEX=0", "", `"automatic" is not i/n`},
	} {
		env := map[string]string{}
		for _, w := range strings.Fields(c.env) {
			k, v, _ := strings.Cut(w, "=")
			env[k] = v
		}
		got, said, err := ResolveShard(c.ask, func(name string) (string, bool) { v, ok := env[name]; return v, ok })
		if err != nil {
			said = err.Error()
		}
		if got.String() != c.want || (err == nil) != (c.want != "") || !strings.Contains(said, c.say) || c.say == "" && said != "" {
			t.Errorf("%s with %q: %q, %q, error %v; want %q and %q", c.ask, c.env, got, said, err, c.want, c.say)
		}
		if strings.Contains(said, "\n") {
			t.Errorf("%s with %q: more than one line: %q", c.ask, c.env, said)
		}
	}
}
