// Package golden compares what a test made with what stands in a file. `go test -update` writes the files anew.
package golden

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

// Check compares what was made with the file of that name in testdata, and shows the first line that differs.
func Check[T string | []byte](t *testing.T, name string, made T) {
	t.Helper()
	path, got := filepath.Join("testdata", name), []byte(made)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(got, want) {
		return
	}
	g, w := bytes.Split(got, []byte("\n")), bytes.Split(want, []byte("\n"))
	at := func(lines [][]byte, i int) []byte {
		if i < len(lines) {
			return lines[i]
		}
		return []byte("(the end)")
	}
	for i := range max(len(g), len(w)) {
		if i >= len(g) || i >= len(w) || !bytes.Equal(g[i], w[i]) {
			t.Errorf("%s:%d differs (go test -update writes it anew):\n got %s\nwant %s\n%s", path, i+1, at(g, i), at(w, i), got)
			return
		}
	}
}
