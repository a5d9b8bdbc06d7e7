package results

import (
	"os"

	"github.com/google/renameio/v2/maybe"
)

// WriteFile writes a file whole: a temporary file beside it, then a rename, so that nobody sees half of it. (On Windows,
// where a rename is not atomic, it is written in place.) What is no regular file, a pipe or /dev/null, is written to: renamed over, a
// device would be gone for all programs.
func WriteFile(path string, data []byte) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return os.WriteFile(path, data, 0o644)
	}
	return maybe.WriteFile(path, data, 0o644)
}
