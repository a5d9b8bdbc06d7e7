//go:build unix

package bench

import (
	"os/exec"
	"syscall"
)

// ownGroup keeps signals of the terminal away from the process.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
