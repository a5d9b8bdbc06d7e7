package bench

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// maxTempDir is the length in bytes of the longest folder that endpoints fit below: the path of a Unix socket has 107, of
// which the folder of the run, that of the sample and the name take the rest.
const maxTempDir = 56

// newTempDirName is the path of a folder that nobody has: no longer than those of os.MkdirTemp.
func newTempDirName() string {
	b := make([]byte, 5)
	rand.Read(b) // never fails
	return filepath.Join(os.TempDir(), fmt.Sprintf("msgbench-%x", b))
}

// CheckTempDir says why endpoints can't be made in the system's folder for temporary files, before anything is begun.
func CheckTempDir() error {
	dir := os.TempDir()
	if runtime.GOOS != "windows" {
		if len(dir) > maxTempDir {
			return fmt.Errorf("TMPDIR %s: has %d characters, and the paths of sockets below it would be too long; name a folder of %d at most",
				dir, len(dir), maxTempDir)
		}
		if strings.ContainsAny(dir, " \t\r\n") {
			return fmt.Errorf("TMPDIR %q: endpoints are one word; name a folder without spaces", dir)
		}
	}
	probe, err := os.MkdirTemp("", "msgbench-")
	if err != nil {
		return fmt.Errorf("TMPDIR %s: %w (name a folder that can be written)", dir, err)
	}
	return os.Remove(probe)
}
