package machine

import (
	"context"
	"os"
	"path/filepath"
	"slices"
)

// Probes is what has to be tried out rather than read. Zero and nil mean not known.
type Probes struct {
	SleepP50Ns int64             `json:"sleep_p50_ns,omitempty"` // how late a sleep of 1 ms ends
	SleepMaxNs int64             `json:"sleep_max_ns,omitempty"`
	TempDir    string            `json:"temp_dir"`
	TempError  string            `json:"temp_error,omitempty"` // why nothing can be written there
	TempFS     string            `json:"temp_fs,omitempty"`    // type of its file system
	TempFree   int64             `json:"temp_free_bytes,omitempty"`
	ShmFree    *int64            `json:"shm_free_bytes,omitempty"`    // in /dev/shm
	OpenFiles  int64             `json:"open_files,omitempty"`        // how many this process may have
	SlackNs    int64             `json:"timer_slack_ns,omitempty"`    // of this process
	SlackError string            `json:"timer_slack_error,omitempty"` // why it can't be changed
	Cores      *CoreMap          `json:"cores,omitempty"`
	Features   map[string]string `json:"features,omitempty"` // by name, empty or why it is missing: fifo, memfd, …
}

// sleeps is how many sleeps of 1 ms are measured.
const sleeps = 40

// Probe tries this machine out in about 50 ms. It makes a folder in tempDir ("": that of the system) and removes it.
func Probe(ctx context.Context, tempDir string) Probes {
	if tempDir == "" {
		tempDir = os.TempDir()
	}
	p := Probes{TempDir: tempDir, Features: map[string]string{}}
	if abs, err := filepath.Abs(tempDir); err == nil {
		p.TempDir = abs
	}
	dir, err := os.MkdirTemp(p.TempDir, "msgbench-doctor-")
	if err == nil {
		defer os.RemoveAll(dir)
		err = os.WriteFile(filepath.Join(dir, "probe"), []byte("probe"), 0o600)
	}
	if err != nil {
		p.TempError = err.Error()
		dir = ""
	}
	probeNative(&p, dir)
	if late := sleepLateness(ctx, sleeps); len(late) > 0 {
		slices.Sort(late)
		p.SleepP50Ns, p.SleepMaxNs = max(late[len(late)/2], 1), max(late[len(late)-1], 1)
	}
	return p
}

// say is the text of an error, empty for none.
func say(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
