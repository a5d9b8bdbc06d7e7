package registry

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// manyItems returns n distinct items.
func manyItems(n int) []Item {
	items := make([]Item, n)
	for i := range items {
		items[i] = Item{uint32(i), uint32(3 * i), uint32(i % 2), fmt.Sprintf("n%d", i), strings.Repeat("p", i%19)}
	}
	return items
}

// The bytes are fixed: programs in other languages write them, too.
func TestEncodeGolden(t *testing.T) {
	text, err := os.ReadFile("testdata/bench.hex")
	if err != nil {
		t.Fatal(err)
	}
	want, err := hex.DecodeString(strings.Join(strings.Fields(string(text)), ""))
	if err != nil {
		t.Fatal(err)
	}
	got := mustEncode(t, BenchItems(), 1)
	if len(got) != BenchSize {
		t.Errorf("%d B, want %d", len(got), BenchSize)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("got\n%swant\n%s", hex.Dump(got), hex.Dump(want))
	}
}

// The parts of the message, written out by hand.
func TestEncodeParts(t *testing.T) {
	m := mustEncode(t, BenchItems(), 0x0102030405060708)
	for _, c := range []struct {
		what string
		at   int
		want string
	}{
		{"header", 0, "0100 0000 10000000 01000000 00000000 0807060504030201"},
		{"directory: items 0 and 1", 24, "00000000 43000000 48000000 43000000"},
		{"directory: item 10", 24 + 80, "d0020000 45000000"},
		{"directory: item 15", 24 + 120, "38040000 45000000"},
		{"item 1", 152 + 72, "0100 0000 e9030000 00000000 01000000 20000000 08000000 29000000 19000000" +
			hex.EncodeToString([]byte("cgroup-1\x00/sys/fs/cgroup/bench/cg-1\x00")) + "0000000000"},
		{"item 15", 152 + 1080, "0100 0000 f7030000 00000000 01000000 20000000 09000000 2a000000 1a000000" +
			hex.EncodeToString([]byte("cgroup-15\x00/sys/fs/cgroup/bench/cg-15\x00"))},
	} {
		want, err := hex.DecodeString(strings.ReplaceAll(c.want, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		if got := m[c.at:][:len(want)]; !bytes.Equal(got, want) {
			t.Errorf("%s: got\n%swant\n%s", c.what, hex.Dump(got), hex.Dump(want))
		}
	}
}

// The example of docs/wire-snapshot.md is what Encode writes.
func TestDocumentedExample(t *testing.T) {
	text, err := os.ReadFile("../../docs/wire-snapshot.md")
	if err != nil {
		t.Fatal(err)
	}
	var dump strings.Builder
	for _, line := range regexp.MustCompile(`(?m)^    ([0-9a-f]{4})  ((?:[0-9a-f]{2} ?)+)`).FindAllStringSubmatch(string(text), -1) {
		dump.WriteString(strings.ReplaceAll(line[2], " ", ""))
	}
	want, err := hex.DecodeString(dump.String())
	if err != nil {
		t.Fatal(err)
	}
	got := mustEncode(t, BenchItems()[:2], 7)
	if !bytes.Equal(got, want) {
		t.Errorf("got\n%sdocumented\n%s", hex.Dump(got), hex.Dump(want))
	}
}

// What is in the buffer before does not show, whether Encode appends behind it or writes over it.
func TestEncodeIntoDirtyBuffer(t *testing.T) {
	want := mustEncode(t, BenchItems(), 9)
	buf := bytes.Repeat([]byte{0xff}, 32+BenchSize+50)
	got, err := Encode(buf[:32], BenchItems(), 9)
	if err != nil {
		t.Fatal(err)
	}
	if &got[0] != &buf[0] {
		t.Error("a new buffer, though there was room")
	}
	if !bytes.Equal(got[:32], bytes.Repeat([]byte{0xff}, 32)) || !bytes.Equal(got[32:], want) {
		t.Errorf("got\n%s", hex.Dump(got))
	}
	if !bytes.Equal(buf[32+BenchSize:], bytes.Repeat([]byte{0xff}, 50)) {
		t.Error("bytes behind the message were written")
	}
	if got, err = Encode([]byte("short"), BenchItems(), 9); err != nil || string(got[:5]) != "short" || !bytes.Equal(got[5:], want) {
		t.Errorf("appended to a short buffer: %v\n%s", err, hex.Dump(got))
	}
}

func TestEncodeRefuses(t *testing.T) {
	for _, c := range []struct {
		name  string
		items []Item
		gen   uint64
		want  string
	}{
		{"generation", nil, 0, "generation 0: generations count from 1"},
		{"count", manyItems(MaxItems + 1), 1, "4097 items, at most 4096 fit"},
		{"enabled", []Item{{}, {Enabled: 2}}, 1, "item 1: enabled is 2, want 0 or 1"},
		{"name", []Item{{Name: strings.Repeat("n", MaxString+1)}}, 1, "item 0: its name is 4096 B long, at most 4095 fit"},
		{"path", []Item{{Path: "/a\x00b"}}, 1, "item 0: its path has a NUL at byte 2 of 4"},
	} {
		got, err := Encode([]byte("kept"), c.items, c.gen)
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
		if string(got) != "kept" {
			t.Errorf("%s: %q is left", c.name, got)
		}
	}
}
