//go:build !linux

package worker

import "errors"

func lockMemory() error { return errors.ErrUnsupported }
