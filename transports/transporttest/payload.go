package transporttest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand"
	"sync"

	"msgbench/transports"
)

// noise is what messages are cut from: the same bytes in each process.
var noise = sync.OnceValue(func() []byte {
	b := make([]byte, 4<<20+256)
	rand.New(rand.NewSource(1)).Read(b)
	return b
})

// fill makes dst the message number seq: its number, then noise that depends on it.
func fill(dst []byte, seq int) []byte {
	copy(dst, noise()[seq%251:])
	if len(dst) >= 8 {
		binary.LittleEndian.PutUint64(dst, uint64(seq))
	}
	return dst
}

// verify returns what is wrong with a message that should be number seq of size bytes.
func verify(got []byte, size, seq int) error {
	if len(got) >= 8 && size >= 8 {
		if n := binary.LittleEndian.Uint64(got); n != uint64(seq) {
			return fmt.Errorf("message %d (%d B) arrived as number %d (%d B)", seq, size, n, len(got))
		}
	}
	if len(got) != size {
		return fmt.Errorf("message %d arrived with %d B instead of %d", seq, len(got), size)
	}
	skip := 0
	if size >= 8 {
		skip = 8
	}
	want := noise()[seq%251+skip:][:size-skip]
	if !bytes.Equal(got[skip:], want) {
		for i := range want {
			if got[skip+i] != want[i] {
				return fmt.Errorf("message %d (%d B) differs from byte %d on", seq, size, skip+i)
			}
		}
	}
	return nil
}

// send sends message number seq out of buf, which is overwritten after Send returns: it may be reused then.
func send(c transports.Conn, buf []byte, size, seq int) error {
	var msg []byte
	if size > 0 {
		msg = fill(buf[:size], seq) // nil for 0 B
	}
	if err := c.Send(msg); err != nil {
		return fmt.Errorf("Send of message %d (%d B): %w", seq, size, err)
	}
	for i := 0; i < size; i += 64 {
		buf[i] ^= 0xff
	}
	return nil
}

// recv receives and verifies message number seq.
func recv(c transports.Conn, size, seq int) error {
	got, err := c.Recv()
	if err != nil {
		return fmt.Errorf("Recv of message %d (%d B): %w", seq, size, err)
	}
	return verify(got, size, seq)
}

// echo receives n messages of any size and sends each back.
func echo(c transports.Conn, n int) error {
	for i := range n {
		got, err := c.Recv()
		if err != nil {
			return fmt.Errorf("Recv of message %d to be echoed: %w", i, err)
		}
		if err := c.Send(got); err != nil {
			return fmt.Errorf("Send of message %d as an echo: %w", i, err)
		}
	}
	return nil
}
