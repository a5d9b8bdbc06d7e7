// Package all is the explicit table of the transports.
package all

import (
	"fmt"
	"strings"

	"msgbench/transports"
	"msgbench/transports/brokered"
	"msgbench/transports/nng"
	"msgbench/transports/pipe"
	"msgbench/transports/shm"
	"msgbench/transports/tcp"
	"msgbench/transports/uds"
	"msgbench/transports/zmq"
)

// Table returns every transport, in the order of lists and tables.
func Table() []transports.Transport {
	return []transports.Transport{
		pipe.New(),
		shm.New(),
		uds.New(),
		tcp.New(),
		zmq.NewTCP(),
		zmq.NewIPC(),
		nng.NewTCP(),
		nng.NewIPC(),
		brokered.NewTCP(),
		brokered.NewUnix(),
	}
}

// Find returns the transport of that name.
func Find(name string) (transports.Transport, error) {
	var known []string
	for _, t := range Table() {
		if t.Info().Name == name {
			return t, nil
		}
		known = append(known, t.Info().Name)
	}
	return nil, fmt.Errorf("unknown transport %q (known: %s)", name, strings.Join(known, ", "))
}
