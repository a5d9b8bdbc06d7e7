package shm

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"msgbench/transports"
)

// TestRandomSizes sends sizes around every limit through many laps of ring and area, the receiver ahead and behind.
func TestRandomSizes(t *testing.T) {
	for _, wait := range New().Info().Waits {
		t.Run(string(wait), func(t *testing.T) {
			d, a := pair(t, transports.Options{Wait: wait, MaxMessage: 300_000})
			const n = 20_000
			sizes := func(i int) int {
				r := rand.New(rand.NewPCG(1, uint64(i)))
				return []int{0, 1, 55, 56, 57, 119, 120, 121, 128, 4096, r.IntN(200), r.IntN(5000), r.IntN(300_001)}[r.IntN(12+btoi(i%50 == 0))]
			}
			failed := make(chan error, 1)
			go func() {
				buf := make([]byte, 300_000)
				for i := range n {
					msg := buf[:sizes(i)]
					for j := range msg {
						msg[j] = byte(i + j)
					}
					if err := d.Send(msg); err != nil {
						failed <- err
						return
					}
				}
				failed <- nil
			}()
			for i := range n {
				msg, err := a.Recv()
				if err != nil {
					t.Fatal(err)
				}
				if len(msg) != sizes(i) || cap(msg) != len(msg) {
					t.Fatalf("message %d: %d B (capacity %d), want %d", i, len(msg), cap(msg), sizes(i))
				}
				for j := range msg {
					if msg[j] != byte(i+j) {
						t.Fatalf("message %d of %d B: byte %d is %d", i, len(msg), j, msg[j])
					}
					msg[j] = 0xff // in place; must never be taken for a header
				}
				if i%5000 == 0 {
					time.Sleep(20 * time.Millisecond)
				}
			}
			if err := <-failed; err != nil {
				t.Fatal(err)
			}
		})
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestSequenceWraps starts just below 2^32 messages, where the sequence in the words wraps to 0.
func TestSequenceWraps(t *testing.T) {
	d, a := pair(t, transports.Options{})
	const start = 1<<32 - 1024 // a multiple of the slot count
	for i := range d.tx.geo.slots {
		w := word(start-d.tx.geo.slots+i, tagInline, 3)
		atomic.StoreUint64((*uint64)(unsafe.Add(d.tx.slots, i*slotBytes)), w)
	}
	d.tx.next, d.tx.full = start, start+d.tx.geo.slots
	a.rx.next, a.rx.released, a.rx.releaseAt = start, start, start+a.rx.geo.lag()
	atomic.StoreUint64(d.tx.consumed, start)
	for i := range 4096 {
		want := []byte{byte(i), byte(i >> 8)}
		if err := d.Send(want); err != nil {
			t.Fatal(err)
		}
		if got, err := a.Recv(); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("message %d: got %v, %v", i, got, err)
		}
	}
}

// TestCorrupt lets a wild peer write into the segment: the answer is ErrFrame, at once, never a panic or a hang.
func TestCorrupt(t *testing.T) {
	slot := func(c *conn, i uint64, w uint64) {
		atomic.StoreUint64((*uint64)(unsafe.Add(c.tx.slots, i*slotBytes)), w)
	}
	for name, spoil := range map[string]func(c *conn){
		"future sequence": func(c *conn) { slot(c, 0, word(5, tagInline, 40)) },
		"no tag":          func(c *conn) { slot(c, 0, word(0, 0, 40)) },
		"unknown tag":     func(c *conn) { slot(c, 0, word(0, 3, 40)) },
		"long inline":     func(c *conn) { slot(c, 0, word(0, tagInline, inlineBytes+1)) },
		"short in area":   func(c *conn) { slot(c, 0, word(0, tagArea, inlineBytes)) },
		"over max":        func(c *conn) { slot(c, 0, word(0, tagArea, c.seg.geo.maxMessage+1)) },
		"over area":       func(c *conn) { slot(c, 0, word(0, tagArea, lenMask)) },
		"wild area offset": func(c *conn) {
			*(*uint64)(unsafe.Add(c.tx.slots, wordBytes)) = 1 << 63
			slot(c, 0, word(0, tagArea, 4096))
		},
		"garbage over slot": func(c *conn) { slot(c, 0, 0xffffffffffffffff) },
	} {
		t.Run(name, func(t *testing.T) {
			for _, wait := range New().Info().Waits {
				d, a := pair(t, transports.Options{Wait: wait})
				spoil(d)
				if msg, err := a.Recv(); !errors.Is(err, transports.ErrFrame) {
					t.Errorf("wait=%s: got %d B, error %v, want ErrFrame", wait, len(msg), err)
				}
			}
		})
	}
	for name, spoil := range map[string]func(c *conn){
		"consumed too much":     func(c *conn) { atomic.StoreUint64(c.tx.consumed, 1<<40) },
		"consumed too little":   func(c *conn) { atomic.StoreUint64(c.tx.consumed, ^uint64(0)) },
		"bytes never sent":      func(c *conn) { atomic.StoreUint64(c.tx.consumedBytes, 1<<40) },
		"bytes before the sent": func(c *conn) { atomic.StoreUint64(c.tx.consumedBytes, ^uint64(0)) },
	} {
		t.Run(name, func(t *testing.T) {
			d, _ := pair(t, transports.Options{})
			spoil(d)
			var err error
			for i := 0; i < 2000 && err == nil; i++ {
				err = d.Send(make([]byte, 40))
			}
			if !errors.Is(err, transports.ErrFrame) {
				t.Errorf("Send: error %v, want ErrFrame", err)
			}
		})
	}
}

// TestCloseLeavesNothing: no descriptor and no mapping of the segment after Close, no address range once the connection
// is garbage; a slice that Recv returned does not fault.
func TestCloseLeavesNothing(t *testing.T) {
	maps := func(what string) int {
		b, err := os.ReadFile("/proc/self/maps")
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(b), what)
	}
	fds := func() int { e, _ := os.ReadDir("/proc/self/fd"); return len(e) }
	files, goroutines := fds(), runtime.NumGoroutine()
	func() {
		d, a := pair(t, transports.Options{})
		if maps("memfd:msgbench-shm") != 2 {
			t.Fatalf("%d mappings of the segment, want one for each side", maps("memfd:msgbench-shm"))
		}
		if err := d.Send([]byte("held")); err != nil {
			t.Fatal(err)
		}
		msg, err := a.Recv()
		if err != nil {
			t.Fatal(err)
		}
		d.Close()
		a.Close()
		msg[0]++
		if _, err := a.Recv(); !errors.Is(err, transports.ErrClosed) {
			t.Errorf("Recv after Close: %v", err)
		}
		if _, err := d.Recv(); !errors.Is(err, transports.ErrClosed) {
			t.Errorf("Recv after Close: %v", err)
		}
	}()
	if n := maps("memfd:msgbench-shm"); n != 0 {
		t.Errorf("%d mappings of the segment after Close", n)
	}
	if n := fds(); n > files {
		t.Errorf("%d descriptors after Close, %d before", n, files)
	}
	for until := time.Now().Add(2 * time.Second); runtime.NumGoroutine() > goroutines && time.Now().Before(until); {
		time.Sleep(time.Millisecond)
	}
	if n := runtime.NumGoroutine(); n > goroutines {
		t.Errorf("%d goroutines after Close, %d before", n, goroutines)
	}
}

// TestAddressRange: the range of a closed connection is given back with the garbage.
func TestAddressRange(t *testing.T) {
	lines := func() int { b, _ := os.ReadFile("/proc/self/maps"); return bytes.Count(b, []byte("\n")) }
	before := 0
	for i := range 40 {
		l, err := New().Listen(transports.Options{Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			if c, err := l.Accept(); err == nil {
				c.Close()
			}
		}()
		c, err := New().Dial(l.Endpoint(), transports.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Recv(); !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		c.Close()
		if i == 5 {
			before = lines()
		}
	}
	for until := time.Now().Add(5 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		runtime.GC()
		if n := lines(); n <= before+5 {
			return
		} else if time.Now().After(until) {
			t.Fatalf("%d mappings, %d after the first connections", n, before)
		}
	}
}

// TestOddFolders: a folder whose name has spaces, and one whose path is longer than a socket address.
func TestOddFolders(t *testing.T) {
	for _, name := range []string{"a b %20 ü", strings.Repeat("long", 50)} {
		dir := t.TempDir() + "/" + name
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		l, err := New().Listen(transports.Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		if strings.ContainsAny(l.Endpoint(), " \t\n") {
			t.Errorf("endpoint %q is not one word", l.Endpoint())
		}
		dialed := make(chan error, 1)
		go func() {
			c, err := New().Dial(l.Endpoint(), transports.Options{Dir: dir})
			if err == nil {
				err = c.Close()
			}
			dialed <- err
		}()
		c, err := l.Accept()
		if err := errors.Join(err, <-dialed); err != nil {
			t.Fatal(err)
		}
		c.Close()
		if left, _ := os.ReadDir(dir); len(left) != 0 {
			t.Errorf("%v left in %q", left, dir)
		}
	}
}
