package bench

import (
	"errors"
	"fmt"
	"net"
)

// portTries is how often a process that has to be told its port is started before the sample fails.
const portTries = 5

var errPortTaken = errors.New("the port is taken")

// reservePorts finds n ports of 127.0.0.1 that nobody has. They are free again when it returns, so that another process may
// take one first.
func reservePorts(n int) ([]int, error) {
	var ports []int
	for range n {
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("reserve a port: %w", err)
		}
		defer l.Close() // only now, so that the next one is another port
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}
