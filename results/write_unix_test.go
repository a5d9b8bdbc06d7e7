//go:build unix

package results

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A pipe gets the text, and stays a pipe; a rename would have put a file in its place.
func TestWriteFileToAPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	read := make(chan string, 1)
	go func() {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
		}
		read <- string(data)
	}()
	if err := WriteFile(path, []byte("text")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		t.Fatalf("%v is left (%v), want the pipe", info, err)
	}
	if got := <-read; got != "text" {
		t.Errorf("read %q", got)
	}
}
