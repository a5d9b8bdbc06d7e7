//go:build !linux

package worker

import (
	"errors"

	"msgbench/bench/protocol"
	"msgbench/results"
)

func (w *worker) calibrate(protocol.Args) (*results.Calibration, error) {
	return nil, errors.ErrUnsupported
}
