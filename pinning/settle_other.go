//go:build !linux

package pinning

import "errors"

// Settle would begin this process anew on the given CPUs. Here processes go unpinned, and it has nothing to do without any.
func Settle(cpus []int) error {
	if len(cpus) > 0 {
		return errors.New("this system offers no way to pin processes")
	}
	return nil
}
