//go:build !unix

package mqsock

import (
	"errors"
	"net"
)

var (
	sendBuffer    sockopt
	socketOptions []sockopt
)

func getsockopt(net.Conn, int, int) (int, error) { return 0, errors.ErrUnsupported }
