//go:build race

package registry

// raceEnabled: the race detector slows some code down far more than other code, so ratios mean nothing.
const raceEnabled = true
