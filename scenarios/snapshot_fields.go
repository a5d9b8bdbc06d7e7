package scenarios

import (
	"encoding/binary"
	"fmt"

	"msgbench/scenarios/registry"
	"msgbench/transports"
)

// snapshotFields are the typed parameters of what snapshot sends: a number, and a registry.
func snapshotFields(k uint32) transports.Fields {
	switch kind(k) {
	case kindRequest:
		return new(number)
	case kindReply:
		return new(registry.Fields)
	}
	return nil
}

// number is a u32.
type number uint32

func (n *number) Take(payload []byte) error { return n.Parse(payload) }

func (n *number) Size() int { return snapshotRequest }

func (n *number) Wire(int) int { return snapshotRequest }

func (n *number) Put(b []byte) { binary.LittleEndian.PutUint32(b, uint32(*n)) }

func (n *number) Parse(b []byte) error {
	if len(b) != snapshotRequest {
		return fmt.Errorf("%d B are no number of %d B", len(b), snapshotRequest)
	}
	*n = number(binary.LittleEndian.Uint32(b))
	return nil
}

func (n *number) Give(payload []byte) (int, error) {
	if len(payload) < snapshotRequest {
		return 0, fmt.Errorf("a number where messages have at most %d B", len(payload))
	}
	n.Put(payload)
	return snapshotRequest, nil
}
