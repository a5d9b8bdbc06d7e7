//go:build !linux

package broker

// hungUp is not known here: the end of a connection is noticed when all of it has been read.
func (*try) hungUp() bool { return false }
