//go:build linux

package uds

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"msgbench/transports"
	"msgbench/transports/internal/rawfd"
)

// rawPair is a connection whose peer is a bare socket.
func rawPair(t *testing.T, max int) (*conn, int) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	fd, err := rawfd.Socket(fds[0], transports.Block)
	if err != nil {
		t.Fatal(err)
	}
	c := newPacketConn(fd, max, fd.SocketFact(unix.SOL_SOCKET, unix.SO_SNDBUF), nil)
	t.Cleanup(func() { c.Close(); unix.Close(fds[1]) })
	return c, fds[1]
}

// packet is a packet with its head.
func packet(left uint32, body string) []byte {
	return append(binary.LittleEndian.AppendUint32(nil, left), body...)
}

func TestPackets(t *testing.T) {
	for _, c := range []struct {
		name    string
		packets [][]byte
		want    string // message, if err is nil
		err     error
	}{
		{"empty message", [][]byte{packet(0, "")}, "", nil},
		{"one packet", [][]byte{packet(3, "abc")}, "abc", nil},
		{"pieces", [][]byte{packet(6, "abc"), packet(3, "d"), packet(2, "ef")}, "abcdef", nil},
		{"closed", nil, "", io.EOF},
		{"closed inside a message", [][]byte{packet(6, "abc")}, "", io.ErrUnexpectedEOF},
		{"announces too much", [][]byte{packet(101, "abc")}, "", transports.ErrTooLarge},
		{"announces 4 GiB", [][]byte{packet(0xffffffff, "")}, "", transports.ErrTooLarge},
		{"longer than announced", [][]byte{packet(2, "abc")}, "", transports.ErrFrame},
		{"longer than any packet", [][]byte{packet(100, strings.Repeat("x", 120_000))}, "", transports.ErrFrame},
		{"no head", [][]byte{[]byte("abc")}, "", transports.ErrFrame},
		{"piece without a body", [][]byte{packet(6, "abc"), packet(3, "")}, "", transports.ErrFrame},
		{"piece of another message", [][]byte{packet(6, "abc"), packet(4, "defg")}, "", transports.ErrFrame},
		{"piece too long", [][]byte{packet(6, "abc"), packet(3, "defg")}, "", transports.ErrFrame},
	} {
		t.Run(c.name, func(t *testing.T) {
			conn, peer := rawPair(t, 100)
			for _, p := range c.packets {
				if _, err := unix.Write(peer, p); err != nil {
					t.Fatal(err)
				}
			}
			unix.Shutdown(peer, unix.SHUT_WR)
			msg, err := conn.Recv()
			if !errors.Is(err, c.err) || string(msg) != c.want {
				t.Errorf("got %q and error %v, want %q and %v", msg, err, c.want, c.err)
			}
		})
	}
}

// TestCapacityBelowPacket uses a socket whose buffer is smaller than the usual packet.
func TestCapacityBelowPacket(t *testing.T) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	var cs [2]*conn
	for i, d := range fds {
		if err := unix.SetsockoptInt(d, unix.SOL_SOCKET, unix.SO_SNDBUF, 5000); err != nil {
			t.Fatal(err)
		}
		fd, err := rawfd.Socket(d, transports.Block)
		if err != nil {
			t.Fatal(err)
		}
		cs[i] = newPacketConn(fd, 1<<20, fd.SocketFact(unix.SOL_SOCKET, unix.SO_SNDBUF), nil)
		defer cs[i].Close()
	}
	for _, size := range []int{0, 40, 9000, 9964, 9965, 20000, 1 << 20} {
		msg := bytes.Repeat([]byte{byte(size), 7}, size)[:size]
		sent := make(chan error, 1)
		go func() { sent <- cs[0].Send(msg) }()
		got, err := cs[1].Recv()
		if err != nil || !bytes.Equal(got, msg) {
			t.Fatalf("message of %d B: got %d B, error %v", size, len(got), err)
		}
		if err := <-sent; err != nil {
			t.Fatal(err)
		}
	}
	for n := cs[0].InFlight(40); n > 0; n-- {
		if err := cs[0].Send(make([]byte, 40)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestLongPath(t *testing.T) {
	_, err := New().Listen(transports.Options{Dir: "/tmp/" + strings.Repeat("long/", 20)})
	if err == nil || !strings.Contains(err.Error(), "shorter name") {
		t.Errorf("folder with a path of 105 bytes: got error %v", err)
	}
}

func BenchmarkPacketSize(b *testing.B) {
	for _, size := range []int{64<<10 + 32, 1 << 20} {
		for _, limit := range []int{8 << 10, 16 << 10, 32 << 10, 48 << 10, 64 << 10, packetSize} {
			b.Run(fmt.Sprintf("size=%d/packet=%d", size, limit), func(b *testing.B) { benchmarkPackets(b, size, limit) })
		}
	}
}

// benchmarkPackets streams messages of size bytes to another thread in packets of at most limit bytes.
func benchmarkPackets(b *testing.B, size, limit int) {
	dir, err := os.MkdirTemp("", "uds")
	if err != nil {
		b.Fatal(err)
	}
	defer os.RemoveAll(dir)
	o := transports.Options{Dir: dir, MaxMessage: size}
	l, err := New().Listen(o)
	if err != nil {
		b.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		done <- func() error {
			c, err := l.Accept()
			if err != nil {
				return err
			}
			defer c.Close()
			for range b.N {
				if _, err := c.Recv(); err != nil {
					return err
				}
			}
			return nil
		}()
	}()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	c, err := New().Dial(l.Endpoint(), o)
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	c.(*conn).packet = limit
	msg := make([]byte, size)
	b.SetBytes(int64(size))
	b.ResetTimer()
	for range b.N {
		if err := c.Send(msg); err != nil {
			b.Fatal(err)
		}
	}
	if err := <-done; err != nil {
		b.Fatal(err)
	}
}
