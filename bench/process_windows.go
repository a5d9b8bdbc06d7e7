package bench

import (
	"os/exec"
	"syscall"
)

// ownGroup keeps signals of the console away from the process.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}
