// Package transports holds the contract between the scenarios and the adapters that move messages between two
// processes. Each adapter lives in a folder of its own and stands in the table of package all; package transporttest
// holds the conformance suite that each of them passes.
package transports

import (
	"errors"
	"fmt"
)

// Wait says how a side waits for the next message. It is a dimension of the cell, since it changes figures several times over.
type Wait string

// The wait strategies. Block sleeps in the kernel at once; Spin never sleeps; Hybrid spins for a limited time, then sleeps.
const (
	Block  Wait = "block"
	Spin   Wait = "spin"
	Hybrid Wait = "hybrid"
)

// Pattern says what a scenario does with a connection, so that an adapter can choose the fitting kind of socket.
type Pattern string

// The patterns. RequestReply alternates strictly: one message there, one back. Pipelined keeps several requests in flight
// and gets the replies in order. Stream moves messages from the dialing side to the listening side only, except for
// occasional control messages back.
const (
	RequestReply Pattern = "request-reply"
	Pipelined    Pattern = "pipelined"
	Stream       Pattern = "stream"
)

// EnvelopeSize is how many bytes of each message the scenarios use for sequence number, stamp, kind and length.
const EnvelopeSize = 32

// Options are what both sides of one connection agree on before they meet.
type Options struct {
	Dir        string  // folder of mode 0700 for sockets and FIFOs; the caller makes and removes it
	Address    string  // IPv4 address that TCP listens on; empty: 127.0.0.1
	Wait       Wait    // empty: the first of Info.Waits
	Pattern    Pattern // empty: RequestReply
	MaxMessage int     // bytes of the largest message either side sends, envelope included; 0: 64 KiB
	Depth      int     // messages the scenario wants in flight, to size queues; 0: 1
	Nagle      bool    // leave TCP_NODELAY off
	Buffer     int     // bytes of the kernel's buffer in each direction, where Info.Buffers; the system rounds it; 0: its default
	Broker     string  // endpoint of the process in the middle, where Info.Brokered
	Meter      bool    // of ListenBroker: count messages by time
	Scope      Scope   // where Info.Brokered; empty: Stack
	LockThread bool    // where Info.Brokered: the goroutine that messages are handed to is locked to a thread
	// Fields, where Info.Brokered and Scope is Stack, makes the typed parameters of a kind of message; nil for a kind whose
	// payload is one of Brokered.Sizes. Where it is set, no request, reply or data message goes without types.
	Fields func(kind uint32) Fields `json:"-"`
}

// DefaultMaxMessage is what a zero Options.MaxMessage stands for, in bytes.
const DefaultMaxMessage = 64 << 10

// Info is what is known of a transport without opening anything.
type Info struct {
	Name       string // as in cell keys
	Summary    string // one line for `list transports`
	Waits      []Wait // strategies it offers, the default first
	MaxMessage int    // bytes of the largest message it can carry, envelope included
	// LockThread: all I/O is done by the calling thread with blocking calls, so the caller should lock its goroutine
	// to a thread. Transports that hand over to goroutines of their own must not be locked.
	LockThread bool
	// Buffers: Options.Buffer is heeded.
	Buffers bool
	// Brokered: a process in the middle forwards the messages; the transport is a Brokered.
	Brokered bool
	// Network: it can connect processes of two hosts; Options.Address is heeded.
	Network bool
	// Silent: the loss of the peer process is not reported by Recv (some message libraries reconnect forever).
	Silent bool
}

// Transport makes connections between exactly two processes.
type Transport interface {
	Info() Info
	// Listen makes an endpoint that one Dial can reach.
	Listen(Options) (Listener, error)
	// Dial connects to what Listener.Endpoint returned, in this or in another process.
	Dial(endpoint string, o Options) (Conn, error)
}

// Listener waits for one connection.
type Listener interface {
	// Endpoint is one word without spaces: what the other side hands to Dial.
	Endpoint() string
	// Accept returns the connection of the one peer that dials. What the endpoint left in the file system is unlinked
	// when it returns. It is called once.
	Accept() (Conn, error)
	// Close ends a blocked Accept and removes what the endpoint left in the file system. It does not close the
	// connection that Accept returned. Closing twice is no error.
	Close() error
}

// Conn carries messages of 0 to Options.MaxMessage bytes, in order, each whole or not at all. One goroutine may send
// while another receives.
type Conn interface {
	// Send may block while the peer does not receive. The message may be reused once it returns.
	Send(msg []byte) error
	// Recv returns the next message. The slice is valid, and may be written to, until the next Recv. It returns io.EOF
	// when the peer has closed between messages, io.ErrUnexpectedEOF when inside one.
	Recv() ([]byte, error)
	// InFlight is how many messages of size bytes (envelope included) one direction surely takes without blocking while
	// nobody receives; at least 1. One message larger than every buffer counts as 1 though it may block.
	InFlight(size int) int
	// Facts are the settings chosen, as read back where the system tells: socket type, buffers, nodelay, high-water marks.
	Facts() map[string]string
	// Close ends blocked calls of other goroutines (they return ErrClosed) and frees all. Closing twice is no error.
	Close() error
}

// Prober is a Transport that can say why it can't run on this machine.
type Prober interface {
	// Probe returns nil if the transport can run here, else the reason.
	Probe() error
}

// Broadcaster is a Transport with a socket of its own for one publisher and several subscribers.
type Broadcaster interface {
	// ListenBroadcast makes the publisher's end. Several DialBroadcast may reach its Endpoint. Its Accept returns at once a
	// Conn that only sends, to everyone who is connected at that time.
	ListenBroadcast(Options) (Listener, error)
	// DialBroadcast connects a subscriber: a Conn that only receives.
	DialBroadcast(endpoint string, o Options) (Conn, error)
	// Lossy tells whether messages are dropped by design when a subscriber is slow.
	Lossy() bool
}

// Scope says how much of a service framework a message passes through.
type Scope string

// The scopes. Stack: typed parameters are serialized field by field, forwarded, handed to the goroutine of a component as
// bytes, deserialized there, and a method is called with them. Raw: bytes are forwarded, and nothing else.
const (
	Stack Scope = "stack"
	Raw   Scope = "raw"
)

// Brokered is a Transport with a process in the middle, which both ends connect to: Options.Broker says where it is.
type Brokered interface {
	Transport
	// ListenBroker makes the process in the middle.
	ListenBroker(Options) (Broker, error)
	// Locks tells whether the caller of a connection made with these options should lock its goroutine to a thread; it
	// replaces Info.LockThread.
	Locks(Options) bool
	// Hops is how many sockets a message crosses one way.
	Hops() int
	// Sizes are the payload sizes in bytes that a scope carries, ascending; nil: all.
	Sizes(Scope) []int
}

// Broker is the process in the middle.
type Broker interface {
	Endpoint() string
	// Serve forwards messages until Close.
	Serve() error
	// Facts are its settings.
	Facts() map[string]string
	// Counts are what it has counted since it began.
	Counts() map[string]int64
	// Series is how many messages of those who dial were forwarded in each of so many steps from start on, the last one and
	// all after it in one; ns of the monotonic clock, multiples of 10 ms. nil: it does not know (Options.Meter).
	Series(start, step int64, steps int) []int64
	Close() error
}

// Fields are typed parameters of a call, in place of a payload of Brokered.Sizes. They belong to one connection and one
// direction, and keep their memory from message to message.
type Fields interface {
	// Take sets the parameters to what a payload holds, as the scenario sends it; it may be used until the next Take.
	Take(payload []byte) error
	// Size is how many bytes Put writes.
	Size() int
	// Wire is the mean of Size over messages whose payloads have so many bytes in the mean; the last one's where that is all
	// there is to know.
	Wire(payload int) int
	// Put serializes the parameters, field by field.
	Put(b []byte)
	// Parse deserializes them from exactly b, which may be used until the next Parse.
	Parse(b []byte) error
	// Give writes the payload, as the scenario receives it, and returns its size; an error where it does not fit.
	Give(payload []byte) (int, error)
}

// Corker is a Conn that can send several messages with one call of the system, as frameworks with a queue at the sender do.
// Only who sends calls it.
type Corker interface {
	// Cork lets Send keep messages back until Uncork, or until there are enough for a call.
	Cork()
	// Uncork sends what was kept back. Close forgets it.
	Uncork() error
}

// Sized is a Conn that tells what messages take on the wire where that is not their envelope and payload.
type Sized interface {
	// WireSizes are the mean bytes of a request (or one-way message) and of a response that carry payloads of so many bytes
	// in the mean.
	WireSizes(request, response int) (int, int)
}

// TypedConn is a Conn whose messages are typed calls: Send takes the parameters from the envelope and the payload, and
// serializes them field by field; Recv deserializes what was handed over, calls the method with the parameters, and returns
// what the method was called with, as envelope and payload again. A stamp taken just before Send is one before serialization,
// one taken when Recv has returned is one after deserialization and the entry of the method.
type TypedConn interface {
	Conn
	// Shape changes bytes of any content into a payload whose fields can be told apart; it keeps the first 8.
	Shape(payload []byte)
	Sized
}

// The errors that adapters return, wrapped with their name.
var (
	// ErrClosed is returned by calls on a connection or listener closed on this side.
	ErrClosed = errors.New("closed")
	// ErrTooLarge is returned by Send for a message over Options.MaxMessage, and by Recv for a frame that announces one.
	ErrTooLarge = errors.New("message too large")
	// ErrFrame is returned by Recv for bytes that are not a frame of this transport.
	ErrFrame = errors.New("malformed frame")
)

// Normalized returns o with the zero values replaced by the defaults of info, or an error that names what info can't do.
func (o Options) Normalized(info Info) (Options, error) {
	if o.Wait == "" {
		o.Wait = info.Waits[0]
	}
	if !info.Offers(o.Wait) {
		return o, fmt.Errorf("%s: no wait strategy %q, only %v", info.Name, o.Wait, info.Waits)
	}
	if o.Pattern == "" {
		o.Pattern = RequestReply
	}
	if o.MaxMessage == 0 {
		o.MaxMessage = DefaultMaxMessage
	}
	if o.MaxMessage < 0 || o.MaxMessage > info.MaxMessage {
		return o, fmt.Errorf("%s: messages of %d B: %w, at most %d B", info.Name, o.MaxMessage, ErrTooLarge, info.MaxMessage)
	}
	if o.Depth <= 0 {
		o.Depth = 1
	}
	return o, nil
}

// ListenOn is the address, with a port that the system chooses, for a TCP socket that listens.
func (o Options) ListenOn() string {
	if o.Address == "" {
		return "127.0.0.1:0"
	}
	return o.Address + ":0"
}

// Offers tells whether the transport has the wait strategy w.
func (i Info) Offers(w Wait) bool {
	for _, x := range i.Waits {
		if x == w {
			return true
		}
	}
	return false
}
