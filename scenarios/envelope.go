package scenarios

import (
	"encoding/binary"
	"fmt"

	"msgbench/transports"
)

// kind says what a message is for.
type kind uint32

const (
	kindRequest kind = 1 // answered by kindReply
	kindReply   kind = 2
	kindMark    kind = 3 // the window begins: the receiver notes where its own counters stand, and answers with the same
	kindFinish  kind = 4 // the window has ended: likewise, and the receiver is done
	kindData    kind = 5 // one-way: not answered
	kindHello   kind = 6 // a publisher's first message to a subscriber
	kindNext    kind = 7 // a subscriber has the publication of that number, and asks for the next
)

// Every message starts with the envelope: u64 sequence, u64 stamp in ns, u32 kind, u32 payload length, u64 zero, all
// little-endian (docs/wire.md).
const envelope = transports.EnvelopeSize

// putEnvelope writes the envelope of a message whose payload is all that follows it.
func putEnvelope(msg []byte, seq uint64, stamp int64, k kind) {
	_ = msg[envelope-1]
	binary.LittleEndian.PutUint64(msg[0:], seq)
	binary.LittleEndian.PutUint64(msg[8:], uint64(stamp))
	binary.LittleEndian.PutUint32(msg[16:], uint32(k))
	binary.LittleEndian.PutUint32(msg[20:], uint32(len(msg)-envelope))
	binary.LittleEndian.PutUint64(msg[24:], 0)
}

// checkEnvelope refuses a message that is not whole, or not the one expected.
func checkEnvelope(msg []byte, seq uint64, k kind) error {
	if len(msg) >= envelope &&
		binary.LittleEndian.Uint64(msg[0:]) == seq &&
		binary.LittleEndian.Uint32(msg[16:]) == uint32(k) &&
		int(binary.LittleEndian.Uint32(msg[20:])) == len(msg)-envelope &&
		binary.LittleEndian.Uint64(msg[24:]) == 0 {
		return nil
	}
	return envelopeError(msg, seq, k)
}

func kindOf(msg []byte) kind {
	if len(msg) < envelope {
		return 0
	}
	return kind(binary.LittleEndian.Uint32(msg[16:]))
}

func seqOf(msg []byte) uint64 {
	if len(msg) < envelope {
		return 0
	}
	return binary.LittleEndian.Uint64(msg)
}

func stampOf(msg []byte) int64 {
	if len(msg) < envelope {
		return 0
	}
	return int64(binary.LittleEndian.Uint64(msg[8:]))
}

// sequenceError tells a message that came twice, late or in place of another.
type sequenceError struct{ got, want uint64 }

func (e *sequenceError) Error() string {
	switch {
	case e.got == e.want-1:
		return fmt.Sprintf("message %d came twice", e.got)
	case e.got < e.want:
		return fmt.Sprintf("message %d came late: %d was expected", e.got, e.want)
	default:
		return fmt.Sprintf("message %d came where %d was expected: %d lost", e.got, e.want, e.got-e.want)
	}
}

// envelopeError says what is wrong with a message that checkEnvelope refused.
func envelopeError(msg []byte, seq uint64, k kind) error {
	if len(msg) < envelope {
		return fmt.Errorf("a message of %d B is shorter than its envelope of %d B", len(msg), envelope)
	}
	if n := binary.LittleEndian.Uint32(msg[20:]); int64(n) != int64(len(msg)-envelope) {
		return fmt.Errorf("message %d says it carries %d B, but %d B came", seqOf(msg), n, len(msg)-envelope)
	}
	if got := kindOf(msg); got != k {
		return fmt.Errorf("message %d is of kind %d, want %d", seqOf(msg), got, k)
	}
	if got := seqOf(msg); got != seq {
		return &sequenceError{got, seq}
	}
	return fmt.Errorf("message %d: the last 8 B of its envelope are not zero", seq)
}
