package results

import (
	"bytes"
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// A disk that fills up within a line: the torn line is taken back, and the journal goes on when there is room again. A
// limit on the size of files stands in for the disk, since it too stops a write in its middle.
func TestJournalTakesBackTornLine(t *testing.T) {
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	limit := func(size uint64) {
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: size, Max: before.Max}); err != nil {
			t.Fatal(err)
		}
	}
	defer limit(before.Cur)

	path, data := write(t, three()[:2])
	j, err := OpenJournal(path)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	for room := range uint64(40) { // how much of the line fits
		limit(uint64(len(data)) + room)
		err := j.Append(three()[2])
		limit(before.Cur)
		if !errors.Is(err, unix.EFBIG) {
			t.Fatalf("room for %d bytes: %v, want %v", room, err, unix.EFBIG)
		}
		if got, _ := os.ReadFile(path); !bytes.Equal(got, data) {
			t.Fatalf("room for %d bytes: %d bytes are in the journal, want the %d of before", room, len(got), len(data))
		}
	}
	if err := j.Append(three()[2]); err != nil {
		t.Fatal(err)
	}
	if got, cut, err := ReadJournal(path); err != nil || cut != 0 || !equal(got, three()) {
		t.Errorf("%d samples, %d bytes left out, %v", len(got), cut, err)
	}
}
