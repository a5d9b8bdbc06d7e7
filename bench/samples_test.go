package bench

import (
	"context"
	"errors"
	"path/filepath"

	"msgbench/results"
)

// Run is Measure, and what the journal then holds.
func Run(ctx context.Context, dir string, r results.Run, skip func(results.Cell) string, s Sampler, p Progress) ([]results.Sample, error) {
	_, err := Measure(ctx, dir, r, skip, s, p)
	return held(dir, err)
}

// Retry is Again, and what the journal then holds.
func Retry(ctx context.Context, dir string, r results.Run, keys map[string]bool, s Sampler, p Progress) ([]results.Sample, error) {
	_, err := Again(ctx, dir, r, keys, s, p)
	return held(dir, err)
}

func held(dir string, err error) ([]results.Sample, error) {
	samples, _, readErr := results.ReadJournal(filepath.Join(dir, results.JournalFile))
	return samples, errors.Join(err, readErr)
}
