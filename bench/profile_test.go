package bench

import (
	"os"
	"path/filepath"
	"testing"
)

// The profiles of a run that is resumed do not take the names of those that are there.
func TestProfilesGoOn(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"ping-pong_uds_go-go_8B_max.002.client.pprof", "ping-pong_uds_go-go_8B_max.1007.server.pprof", "notes.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w := testWorkers(t)
	if err := w.ProfileInto(dir); err != nil {
		t.Fatal(err)
	}
	if w.samples != 1007 {
		t.Errorf("numbers go on from %d, want 1007", w.samples)
	}
	if err := w.ProfileInto(filepath.Join(dir, "none")); err == nil {
		t.Error("no error for a folder that is not there")
	}
}
