package mqsock

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"msgbench/transports"
)

var errOneWay = errors.New("a broadcast has one direction: the publisher sends, the subscribers receive")

// OneWay is the error of a call against the direction of a broadcast.
func OneWay(fate *Fate) error {
	if fate.Err() == transports.ErrClosed {
		return transports.ErrClosed
	}
	return errOneWay
}

// BroadcastFacts are the settings of one side under names that differ from those of the connection for the way back.
func BroadcastFacts(library string, settings map[string]string) map[string]string {
	facts := map[string]string{"library": library}
	for k, v := range settings {
		facts["broadcast_"+k] = v
	}
	return facts
}

// DrainTime bounds how long the Close of a publisher waits for the library to write what it has queued. It is short: a
// subscriber that takes nothing holds up the end of all others.
const DrainTime = 500 * time.Millisecond

// Broadcast is the listener of a publisher, which has its one Conn from the start.
type Broadcast struct {
	Name      string // of the transport
	Address   string
	Publisher transports.Conn
	Shut      func() // ends the endpoint; those who are connected stay

	mu            sync.Mutex
	given, closed bool
}

var _ transports.Listener = (*Broadcast)(nil)

// Endpoint is the address to dial.
func (b *Broadcast) Endpoint() string { return b.Address }

// Accept returns the publisher at once.
func (b *Broadcast) Accept() (transports.Conn, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, fmt.Errorf("%s: %w", b.Name, transports.ErrClosed)
	}
	b.given = true
	return b.Publisher, nil
}

// Close ends the endpoint, and the publisher too if Accept has not returned it.
func (b *Broadcast) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	if b.given {
		b.Shut()
		return nil
	}
	return b.Publisher.Close()
}

// Drain calls again and again for a mark to be sent behind all that is queued, until passed tells that it has come
// through. A mark may be lost where the queue is full. It gives up after DrainTime.
func Drain(mark func(), passed func() bool) bool {
	for until := time.Now().Add(DrainTime); ; time.Sleep(200 * time.Microsecond) {
		if passed() {
			return true
		}
		if time.Now().After(until) {
			return false
		}
		mark()
	}
}
