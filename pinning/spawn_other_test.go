//go:build !linux

package pinning

func ownSlack() string { return "unknown" }
