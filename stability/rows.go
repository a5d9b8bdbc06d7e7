// Package stability is the policy: the samples of a run in, a verdict and figures for each cell out. It is pure: it reads
// no file and no clock, and the order of the samples does not matter. docs/method.md tells the rules for people.
package stability

import (
	"fmt"

	"msgbench/results"
)

// Rerun gives the keys of the cells that fall short after attempt 0 and get one whole rerun (rule 5), in the order of
// run.Cells; of a run that sets two settings against each other, with the other cell of the pair, since these are compared
// round by round. Failed, skipped and oversubscribed cells do not fall short, nor those with too few samples. Only samples of attempt 0
// are looked at, so the answer stays the same while the rerun goes on or is resumed.
func Rerun(run results.Run, samples Samples) ([]string, error) {
	if run.Policy.Reruns < 1 {
		return nil, nil
	}
	g, err := group(run, samples, nil)
	if err != nil {
		return nil, err
	}
	for i := range g {
		if at := g[i].attempts; len(at) > 0 {
			if at[0].number != 0 {
				return nil, fmt.Errorf("%s: has samples of attempt %d but none of attempt 0", g[i].key, at[0].number)
			}
			g[i].attempts = at[:1]
		}
	}
	short, all := map[string]bool{}, judgeAll(run.Policy, g)
	for _, j := range all {
		short[j.key] = j.short
	}
	var keys []string
	for _, j := range all {
		beside := short[run.AB.Partner(j.key)] && j.verdict != results.Failed && j.verdict != results.Skipped
		if j.short || beside {
			keys = append(keys, j.key)
		}
	}
	return keys, nil
}
