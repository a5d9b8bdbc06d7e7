package bench

import (
	"fmt"
	"strconv"
	"strings"
)

// shardAuto is the word that stands for what the engine that started this process says.
const shardAuto = "auto"

// environ tells the value of a variable, like os.LookupEnv.
type environ func(string) (string, bool)

// engine is a program that starts the parts of a run, each with its number in a variable.
type engine struct {
	name         string
	index, count string                     // variables
	hint         string                     // how count gets there
	first        func(environ) (int, error) // the number of the first part
}

// engines are those that are known. Kubernetes sets no number of completions and GitHub neither of its two: the files in
// scripts/ pass them on under these names.
var engines = []engine{
	{"a Kubernetes Indexed Job", "JOB_COMPLETION_INDEX", "JOB_COMPLETIONS", "set that to the job's completions", fromZero},
	{"the matrix of GitHub Actions", "STRATEGY_JOB_INDEX", "STRATEGY_JOB_TOTAL", "set that to ${{ strategy.job-total }}", fromZero},
	{"a Slurm array", "SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT", "let sbatch --array set that", slurmFirst},
}

func fromZero(environ) (int, error) { return 0, nil }

// slurmFirst is where a Slurm array begins, which has to be without gaps: the place of a number in it would not be known.
func slurmFirst(env environ) (int, error) {
	lowest, err := variable(env, "SLURM_ARRAY_TASK_MIN")
	if err != nil {
		return 0, err
	}
	highest, err := variable(env, "SLURM_ARRAY_TASK_MAX")
	if err != nil {
		return 0, err
	}
	if n, err := variable(env, "SLURM_ARRAY_TASK_COUNT"); err == nil && n != highest-lowest+1 || highest < lowest {
		return 0, fmt.Errorf("the array goes from %d to %d with gaps: want one like --array=1-4", lowest, highest)
	}
	return lowest, nil
}

// variable is a number from 0 in the environment.
func variable(env environ, name string) (int, error) {
	v, _ := env(name)
	n, err := strconv.Atoi(v)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%s is %q, want a number from 0", name, v)
	}
	return n, nil
}

// ResolveShard reads "i/n", or takes it from the engine whose variables env has: "auto", or "auto/n" to say the number of
// parts here. said is one line that tells what was taken from where; empty for "i/n". env is like os.LookupEnv. It is an
// error if no engine is known to have started this process, or if more than one may have.
func ResolveShard(s string, env func(string) (string, bool)) (shard Shard, said string, err error) {
	word, n, hasN := strings.Cut(s, "/")
	if word != shardAuto {
		shard, err = ParseShard(s)
		return shard, "", err
	}
	given := 0
	if hasN {
		if given, err = strconv.Atoi(n); err != nil || given < 1 {
			return shard, "", fmt.Errorf("%q: want %s, or %s/n with n from 1", s, shardAuto, shardAuto)
		}
	}
	var found []engine
	var names []string
	for _, e := range engines {
		names = append(names, e.index)
		if v, _ := env(e.index); v != "" {
			found = append(found, e)
		}
	}
	switch len(found) {
	case 0:
		return shard, "", fmt.Errorf("%s: none of %s is set: say i/n", s, strings.Join(names, ", "))
	case 1:
		shard, said, err = found[0].shard(env, given)
	default:
		err = fmt.Errorf("%s and %s are both set: say i/n", found[0].index, found[1].index)
	}
	if err != nil {
		return Shard{}, "", fmt.Errorf("%s: %w", s, err)
	}
	return shard, said, nil
}

// shard is the part that the engine means. given is the number of parts that the user said; 0: none.
func (e engine) shard(env environ, given int) (Shard, string, error) {
	index, err := variable(env, e.index)
	if err != nil {
		return Shard{}, "", err
	}
	of, from := given, fmt.Sprintf("%d given", given)
	if v, _ := env(e.count); v != "" {
		if of, err = variable(env, e.count); err != nil {
			return Shard{}, "", err
		}
		from = fmt.Sprintf("%s=%d", e.count, of)
		if given > 0 && given != of {
			return Shard{}, "", fmt.Errorf("%d shards are asked for, but %s", given, from)
		}
	}
	if of == 0 {
		return Shard{}, "", fmt.Errorf("%s=%d, but no %s: say %s/n, or %s", e.index, index, e.count, shardAuto, e.hint)
	}
	first, err := e.first(env)
	if err != nil {
		return Shard{}, "", err
	}
	from = fmt.Sprintf("%s=%d, the first being %d, and %s", e.index, index, first, from)
	if index < first || index-first >= of {
		return Shard{}, "", fmt.Errorf("%s: no such shard", from)
	}
	s := Shard{index - first + 1, of}
	return s, fmt.Sprintf("shard %s of %s: %s", s, e.name, from), nil
}
