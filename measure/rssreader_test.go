package measure

import (
	"os"
	"testing"
)

func TestRSSReader(t *testing.T) {
	r, err := NewRSSReader()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	want, err := ResidentBytes(os.Getpid())
	if err != nil {
		t.Skip(err)
	}
	if got := r.Read(); got < want/2 || got > want*2 {
		t.Errorf("%d B, want about %d B", got, want)
	}
}
