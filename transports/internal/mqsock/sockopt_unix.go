//go:build unix

package mqsock

import (
	"net"
	"syscall"
)

var sendBuffer = sockopt{name: "sndbuf", level: syscall.SOL_SOCKET, option: syscall.SO_SNDBUF}

var socketOptions = []sockopt{
	sendBuffer,
	{name: "rcvbuf", level: syscall.SOL_SOCKET, option: syscall.SO_RCVBUF},
	{name: "nodelay", level: syscall.IPPROTO_TCP, option: syscall.TCP_NODELAY, tcpOnly: true, flag: true},
}

func getsockopt(c net.Conn, level, option int) (v int, err error) {
	s, ok := c.(syscall.Conn)
	if !ok {
		return 0, syscall.EINVAL
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return 0, err
	}
	cerr := raw.Control(func(fd uintptr) { v, err = syscall.GetsockoptInt(int(fd), level, option) })
	if cerr != nil {
		return 0, cerr
	}
	return v, err
}
