package shm

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"msgbench/transports"
)

// receiveSegment reads the hello of the listener and the one descriptor that comes with its first byte.
func receiveSegment(sock *net.UnixConn) (int, error) {
	var b [helloBytes]byte
	oob := make([]byte, unix.CmsgSpace(4*4)) // room for more than one, so that too many are seen and closed
	n, oobn, _, _, err := sock.ReadMsgUnix(b[:], oob)
	if err != nil {
		return -1, fmt.Errorf("hello: %w", err)
	}
	fds, err := rights(oob[:oobn])
	if err == nil && len(fds) != 1 {
		err = fmt.Errorf("%d descriptors with the hello: %w", len(fds), transports.ErrFrame)
	}
	if err == nil && n == 0 {
		err = io.ErrUnexpectedEOF
	}
	if err == nil {
		if _, err = readFull(sock, b[n:]); err == nil {
			err = checkHello(b[:])
		}
	}
	if err != nil {
		for _, fd := range fds {
			unix.Close(fd)
		}
		return -1, err
	}
	return fds[0], nil
}

func rights(oob []byte) ([]int, error) {
	msgs, err := unix.ParseSocketControlMessage(oob)
	var all []int
	for i := range msgs {
		fds, ferr := unix.ParseUnixRights(&msgs[i])
		if ferr != nil {
			err = ferr
			continue
		}
		all = append(all, fds...)
	}
	return all, err
}

func readFull(r io.Reader, b []byte) (int, error) {
	n, err := io.ReadFull(r, b)
	if err == io.EOF && len(b) > 0 {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// withShortPath calls f with path, or with another name of the same file when path is too long for a socket address.
func withShortPath(path string, f func(string) error) error {
	if len(path) <= maxSocketPath {
		return f(path)
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return f(filepath.Join("/proc/self/fd", strconv.Itoa(int(dir.Fd())), filepath.Base(path)))
}
