package results

import "github.com/google/renameio/v2/maybe"

// WriteFile writes a file whole: a temporary file beside it, then a rename, so that nobody sees half of it. (On Windows,
// where a rename is not atomic, it is written in place.)
func WriteFile(path string, data []byte) error { return maybe.WriteFile(path, data, 0o644) }
