//go:build !linux

package shm

import (
	"errors"
	"fmt"
	"runtime"

	"msgbench/transports"
)

var errUnsupported = fmt.Errorf("shm: needs memfd and futex of Linux, this is %s: %w", runtime.GOOS, errors.ErrUnsupported)

func (transport) Probe() error { return errUnsupported }

func (transport) Listen(transports.Options) (transports.Listener, error) { return nil, errUnsupported }

func (transport) Dial(string, transports.Options) (transports.Conn, error) {
	return nil, errUnsupported
}
