//go:build !unix

package measure

import (
	"errors"
	"fmt"
)

// UserCPU is not known here: the error wraps errors.ErrUnsupported.
func UserCPU() (ns int64, err error) {
	return 0, fmt.Errorf("CPU time in user mode: %w", errors.ErrUnsupported)
}
