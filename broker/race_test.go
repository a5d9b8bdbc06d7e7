//go:build race

package broker

// raced: times mean nothing under the race detector.
const raced = true
