package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"msgbench/bench"
	"msgbench/bench/areg"
	"msgbench/results"
)

// aregEnv names a built areg-sdk where --areg does not.
const aregEnv = "MSGBENCH_AREG"

// findAreg looks for the programs of areg-sdk where cells need them, and with probe set asks them whether they can run without a
// console. Where they can't, c.missing says why. A folder that --areg names and that is not there is an error.
func (c *chosen) findAreg(ctx context.Context, dir string, probe bool) error {
	if dir != "" {
		if st, err := os.Stat(dir); err != nil || !st.IsDir() {
			return usagef("--areg %s: not a folder; name that of a built areg-sdk", dir)
		}
	}
	if !c.needsAreg() {
		if dir != "" {
			return usagef("--areg: none of the cells is one of areg-sdk")
		}
		return nil
	}
	i, err := locateAreg(dir)
	if err == nil && c.policy.Mlock {
		err = errors.New("its programs do not lock their memory: leave out mlock")
	}
	if err == nil && probe {
		err = i.Probe(ctx)
	}
	if err != nil {
		c.missing[areg.Name] = "peer " + areg.Name + ": " + err.Error()
		return nil
	}
	c.areg = &i
	return nil
}

func (c *chosen) needsAreg() bool {
	return slices.ContainsFunc(c.cells, func(cell results.Cell) bool { return cell.Transport == areg.Name })
}

// locateAreg looks for the programs in dir, or where the environment says.
func locateAreg(dir string) (areg.Install, error) {
	if dir == "" {
		dir = os.Getenv(aregEnv)
	}
	if dir == "" {
		return areg.Install{}, fmt.Errorf("not there: --areg DIR or %s names a built areg-sdk", aregEnv)
	}
	return areg.Find(dir)
}

// listedAreg is areg-sdk in a list of peers or transports.
func listedAreg(e entry) entry {
	i, err := locateAreg("")
	if err != nil {
		e.Skipped = "peer " + areg.Name + ": " + err.Error()
	}
	e.Path = i.Dir
	return e
}

// sampler gives each cell to who measures it.
func (c chosen) sampler(w *bench.Workers) (bench.Sampler, error) {
	if c.areg == nil {
		return w, nil
	}
	return w.WithAreg(*c.areg)
}

// aregPeer is what cells can ask of areg-sdk.
func aregPeer() bench.Peer {
	return bench.Peer{Transports: []string{areg.Name}, Scenarios: areg.Scenarios}
}
