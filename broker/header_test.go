package broker

import (
	"bytes"
	"encoding/hex"
	"errors"
	"reflect"
	"strings"
	"testing"
)

// example has another value in each field.
var example = Header{
	BufType: BufTyped, Target: 0x11, Source: 0x22,
	Provider: Address{1, 2, 3, 4, 5, 6, 7}, Consumer: Address{8, 9, 10, 11, 12, 13, 14},
	Service: 0x33, Role: 0x44, Channel: 0x55, Message: 0x66, Sequence: 0x7788, Result: 0x99, Event: Message,
	Call: CallRequest, Priority: 5, EventID: 0xaa,
}

// TestHeaderBytes holds the layout against docs/wire-broker.md: every field at its offset.
func TestHeaderBytes(t *testing.T) {
	f := Frame(example, []byte("body"))
	want := strings.Join([]string{
		"84000000", "80000000", "0200", "0000", "04000000", // length, offset, type, references, used
		"11000000", "22000000",
		"01000000", "02000000", "03000000", "0400", "0500", "0600", "0700",
		"08000000", "09000000", "0a000000", "0b00", "0c00", "0d00", "0e00",
		"33000000", "44000000", "55000000", "66000000", "8877000000000000", "99000000", "1400", "01", "05",
		"CHECKSUM", "aa000000", strings.Repeat("00", 24),
	}, "")
	got := hex.EncodeToString(f[:HeaderSize])
	i := strings.Index(want, "CHECKSUM")
	if got[:i]+"CHECKSUM"+got[i+8:] != want {
		t.Errorf("header\n%s, want\n%s", got, want)
	}
	h, err := ParseHeader(f)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := CheckHead(f, 1000); n != len(f) || err != nil {
		t.Errorf("CheckHead = %d, %v", n, err)
	}
	if err := CheckSum(f); err != nil {
		t.Error(err)
	}
	e := example
	e.Length, e.Offset, e.Used, e.Checksum = 132, 128, 4, h.Checksum
	if !reflect.DeepEqual(h, e) {
		t.Errorf("read back %+v, want %+v", h, e)
	}
	if _, err := ParseHeader(f[:HeaderSize-1]); !errors.Is(err, ErrFrame) {
		t.Errorf("half a header: error %v", err)
	}
}

// TestRefusedFrames changes a good frame in one place.
func TestRefusedFrames(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(f []byte)
		says  string
	}{
		{"length 0", func(f []byte) { le.PutUint32(f, 0) }, "less than the header"},
		{"length 4 GiB", func(f []byte) { le.PutUint32(f, 1<<32-1) }, "more than 1000 B"},
		{"offset", func(f []byte) { le.PutUint32(f[4:], 0) }, "offset 0"},
		{"used", func(f []byte) { le.PutUint32(f[12:], 5) }, "5 B used"},
		{"type", func(f []byte) { f[8] = 9 }, "buffer type 9"},
		{"references", func(f []byte) { f[10] = 1 }, "1 references"},
	} {
		f := Frame(example, []byte("body"))
		c.spoil(f)
		if _, err := CheckHead(f, 1000); !errors.Is(err, ErrFrame) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: error %v, want one that says %q", c.name, err, c.says)
		}
	}
	// The router changes none of these, so that each is under the sum.
	for at := range HeaderSize + 4 {
		f := Frame(example, []byte("body"))
		f[at] ^= 1
		inSum := at >= offService
		if err := CheckSum(f); (err != nil) != inSum {
			t.Errorf("a bit changed at %d: error %v", at, err)
		}
	}
}

// TestSealApart seals a body that stands apart from its header like one that follows it.
func TestSealApart(t *testing.T) {
	want := Frame(example, []byte("body"))
	var head [HeaderSize]byte
	example.Put(head[:])
	Seal(head[:], []byte("body"))
	if string(head[:]) != string(want[:HeaderSize]) {
		t.Error("the header of a body apart differs")
	}
}

func FuzzFrame(f *testing.F) {
	f.Add(Frame(example, []byte("body")))
	f.Add(make([]byte, HeaderSize))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := ParseHeader(b)
		if err != nil {
			return
		}
		var again [HeaderSize]byte
		h.Put(again[:])
		if string(again[:offInternal]) != string(b[:offInternal]) {
			t.Errorf("%x was written back as %x", b[:offInternal], again[:offInternal])
		}
		n, err := CheckHead(b, 4096)
		if err == nil && (n < HeaderSize || n > 4096) {
			t.Errorf("a frame of %d B was let through", n)
		}
		if err == nil && n <= len(b) {
			_ = CheckSum(b[:n])
		}
		if _, _, err := parseRegister(b); err == nil && len(b) < 2 {
			t.Error("a registration of less than 2 B")
		}
	})
}

// FuzzRegister parses any body of a registration; what it accepts is written back as it was.
func FuzzRegister(f *testing.F) {
	f.Add(registerBody("service", []uint32{1, 2, 1 << 31}))
	f.Add([]byte{200, 0, 'x'})
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		name, methods, err := parseRegister(b)
		if err != nil {
			return
		}
		if again := registerBody(name, methods); !bytes.Equal(again, b) {
			t.Errorf("%x was written back as %x", b, again)
		}
	})
}
