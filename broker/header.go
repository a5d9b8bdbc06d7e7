// Package broker is a message router in the manner of service frameworks: providers register services, consumers find
// them by name, and every message crosses the router, which forwards it by its target's cookie without deserializing it.
// docs/wire-broker.md has what is on the wire.
package broker

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// HeaderSize is the size of the header before each body, in bytes.
const HeaderSize = 128

// The kinds of bodies, as the header's buffer type.
const (
	BufFlat    int16 = 1 // bytes of the application's, which nobody between the ends looks at
	BufTyped   int16 = 2 // parameters of a method, serialized field by field
	BufControl int16 = 3 // between the router and one connection
)

// Event says what a frame is for.
type Event uint16

// The events. Those of a connection to the router are answered by it; Message and Broadcast are forwarded.
const (
	Hello         Event = 1  // connection → router: the token; answered by Welcome, whose target is the connection's cookie
	Welcome       Event = 2  //
	Register      Event = 3  // a service and its methods; answered by Registered
	Registered    Event = 4  // result, service
	Find          Event = 5  // a service by its name; answered by Found
	Found         Event = 6  // result, service, source: the provider's cookie
	Attached      Event = 7  // router → provider: the consumer source has found the service
	Subscribe     Event = 8  // to the broadcast event ID of a service; answered by Subscribed
	Subscribed    Event = 9  // result
	Gone          Event = 10 // router → both sides: the connection source has ended
	Undeliverable Event = 11 // router → sender: nobody has the target's cookie
	Ping          Event = 12 // answered by Pong
	Pong          Event = 13 //
	Refused       Event = 14 // router → connection, its last words: the reason
	Withdraw      Event = 15 // a service of the connection's own can't be found any more; answered by Withdrawn
	Withdrawn     Event = 16 // result
	Message       Event = 20 // to one connection
	Broadcast     Event = 21 // to all subscribers of a service's event
)

// The kinds of calls.
const (
	CallRequest  uint8 = 1
	CallResponse uint8 = 2
	CallNotify   uint8 = 3 // not answered
)

// The results of what the router was asked for.
const (
	ResultOK        uint32 = 0
	ResultNotFound  uint32 = 1
	ResultTaken     uint32 = 2 // a service of that name is registered
	ResultTooMany   uint32 = 3
	ResultMalformed uint32 = 4
)

// Address names one side of a call: which component, of which process, in which thread, in what version.
type Address struct {
	ID, Number, Thread  uint32
	Major, Minor, Patch uint16
	Type                uint16
}

// Header is what stands before each body, at the offsets of docs/wire-broker.md, little-endian.
type Header struct {
	Length             uint32 // of the frame, header included
	Offset             uint32 // of the body in the frame: HeaderSize
	BufType            int16
	RefCount           uint16 // 0 on the wire
	Used               uint32 // bytes of the body
	Target, Source     uint32 // cookies
	Provider, Consumer Address
	Service, Role      uint32
	Channel            uint32
	Message            uint32 // method
	Sequence           uint64
	Result             uint32
	Event              Event
	Call, Priority     uint8
	Checksum           uint32
	EventID            uint32
}

// The offsets of the fields that the hot path touches one by one.
const (
	offLength   = 0
	offOffset   = 4
	offBufType  = 8
	offRefCount = 10
	offUsed     = 12
	offTarget   = 16
	offSource   = 20
	offProvider = 24
	offConsumer = 44
	offService  = 64
	offRole     = 68
	offChannel  = 72
	offMessage  = 76
	offSequence = 80
	offResult   = 88
	offEvent    = 92
	offCall     = 94
	offPriority = 95
	offChecksum = 96
	offEventID  = 100
	offInternal = 104
)

var le = binary.LittleEndian

// Put writes the header into the first HeaderSize bytes of b; Seal sets lengths and checksum afterwards.
func (h *Header) Put(b []byte) {
	_ = b[HeaderSize-1]
	le.PutUint32(b[offLength:], h.Length)
	le.PutUint32(b[offOffset:], h.Offset)
	le.PutUint16(b[offBufType:], uint16(h.BufType))
	le.PutUint16(b[offRefCount:], h.RefCount)
	le.PutUint32(b[offUsed:], h.Used)
	le.PutUint32(b[offTarget:], h.Target)
	le.PutUint32(b[offSource:], h.Source)
	h.Provider.put(b[offProvider:])
	h.Consumer.put(b[offConsumer:])
	le.PutUint32(b[offService:], h.Service)
	le.PutUint32(b[offRole:], h.Role)
	le.PutUint32(b[offChannel:], h.Channel)
	le.PutUint32(b[offMessage:], h.Message)
	le.PutUint64(b[offSequence:], h.Sequence)
	le.PutUint32(b[offResult:], h.Result)
	le.PutUint16(b[offEvent:], uint16(h.Event))
	b[offCall], b[offPriority] = h.Call, h.Priority
	le.PutUint32(b[offChecksum:], h.Checksum)
	le.PutUint32(b[offEventID:], h.EventID)
	clear(b[offInternal:HeaderSize])
}

func (a *Address) put(b []byte) {
	le.PutUint32(b, a.ID)
	le.PutUint32(b[4:], a.Number)
	le.PutUint32(b[8:], a.Thread)
	le.PutUint16(b[12:], a.Major)
	le.PutUint16(b[14:], a.Minor)
	le.PutUint16(b[16:], a.Patch)
	le.PutUint16(b[18:], a.Type)
}

func (a *Address) get(b []byte) {
	*a = Address{le.Uint32(b), le.Uint32(b[4:]), le.Uint32(b[8:]), le.Uint16(b[12:]), le.Uint16(b[14:]), le.Uint16(b[16:]), le.Uint16(b[18:])}
}

// ParseHeader reads the header of a frame. It checks nothing but that b has HeaderSize bytes; CheckHead and CheckSum do.
func ParseHeader(b []byte) (h Header, err error) {
	if len(b) < HeaderSize {
		return h, fmt.Errorf("%d B are less than a header of %d B: %w", len(b), HeaderSize, ErrFrame)
	}
	h = Header{
		Length: le.Uint32(b[offLength:]), Offset: le.Uint32(b[offOffset:]), BufType: int16(le.Uint16(b[offBufType:])),
		RefCount: le.Uint16(b[offRefCount:]), Used: le.Uint32(b[offUsed:]), Target: le.Uint32(b[offTarget:]),
		Source: le.Uint32(b[offSource:]), Service: le.Uint32(b[offService:]), Role: le.Uint32(b[offRole:]),
		Channel: le.Uint32(b[offChannel:]), Message: le.Uint32(b[offMessage:]), Sequence: le.Uint64(b[offSequence:]),
		Result: le.Uint32(b[offResult:]), Event: Event(le.Uint16(b[offEvent:])), Call: b[offCall], Priority: b[offPriority],
		Checksum: le.Uint32(b[offChecksum:]), EventID: le.Uint32(b[offEventID:]),
	}
	h.Provider.get(b[offProvider:])
	h.Consumer.get(b[offConsumer:])
	return h, nil
}

// ErrFrame is in the error for bytes that are not a frame.
var ErrFrame = errors.New("malformed frame")

// CheckHead returns the size in bytes of the frame that b begins with, at most max, or what is wrong with its lengths or
// type. b has at least HeaderSize bytes; the body need not be there yet. It allocates only for the error.
func CheckHead(b []byte, max int) (int, error) {
	n := le.Uint32(b[offLength:])
	switch {
	case n < HeaderSize:
		return 0, fmt.Errorf("a length of %d B, less than the header's %d B: %w", n, HeaderSize, ErrFrame)
	case uint64(n) > uint64(max):
		return 0, fmt.Errorf("a length of %d B, more than %d B: %w", n, max, ErrFrame)
	case le.Uint32(b[offOffset:]) != HeaderSize || le.Uint32(b[offUsed:]) != n-HeaderSize:
		return 0, fmt.Errorf("offset %d and %d B used do not make a length of %d B: %w", le.Uint32(b[offOffset:]), le.Uint32(b[offUsed:]), n, ErrFrame)
	}
	if t := int16(le.Uint16(b[offBufType:])); t < BufFlat || t > BufControl || le.Uint16(b[offRefCount:]) != 0 {
		return 0, fmt.Errorf("buffer type %d with %d references: %w", t, le.Uint16(b[offRefCount:]), ErrFrame)
	}
	return int(n), nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum is the CRC-32C of what the router leaves as it is: the header from service to priority, from event ID to its end,
// and the body. head is the header; the body may stand behind it or, for large ones, apart.
func checksum(head, body []byte) uint32 {
	c := crc32.Update(0, castagnoli, head[offService:offChecksum])
	c = crc32.Update(c, castagnoli, head[offEventID:])
	if len(body) > 0 {
		c = crc32.Update(c, castagnoli, body)
	}
	return c
}

// CheckSum tells whether the checksum of a whole frame is right.
func CheckSum(frame []byte) error {
	if got, want := le.Uint32(frame[offChecksum:]), checksum(frame, nil); got != want {
		return fmt.Errorf("checksum %#08x where %#08x is right: %w", got, want, ErrFrame)
	}
	return nil
}

// Seal sets lengths and checksum of the header in head, whose body is what follows the header in head, and then body.
func Seal(head, body []byte) {
	n := len(head) + len(body)
	le.PutUint32(head[offLength:], uint32(n))
	le.PutUint32(head[offOffset:], HeaderSize)
	le.PutUint32(head[offUsed:], uint32(n-HeaderSize))
	le.PutUint32(head[offChecksum:], checksum(head, body))
}

// Frame makes a whole frame of a header and a body.
func Frame(h Header, body []byte) []byte {
	b := make([]byte, HeaderSize+len(body))
	h.Put(b)
	copy(b[HeaderSize:], body)
	Seal(b, nil)
	return b
}

// The fields that are read or set alone, of a frame with a whole header.

func EventOf(f []byte) Event     { return Event(le.Uint16(f[offEvent:])) }
func BufTypeOf(f []byte) int16   { return int16(le.Uint16(f[offBufType:])) }
func TargetOf(f []byte) uint32   { return le.Uint32(f[offTarget:]) }
func SourceOf(f []byte) uint32   { return le.Uint32(f[offSource:]) }
func ServiceOf(f []byte) uint32  { return le.Uint32(f[offService:]) }
func MessageOf(f []byte) uint32  { return le.Uint32(f[offMessage:]) }
func EventIDOf(f []byte) uint32  { return le.Uint32(f[offEventID:]) }
func SequenceOf(f []byte) uint64 { return le.Uint64(f[offSequence:]) }
func ResultOf(f []byte) uint32   { return le.Uint32(f[offResult:]) }
func Body(f []byte) []byte       { return f[HeaderSize:] }

// SetCall sets what differs between the messages of one connection; the frame is to be sealed then.
func SetCall(f []byte, bufType int16, method uint32, seq uint64, call uint8) {
	le.PutUint16(f[offBufType:], uint16(bufType))
	le.PutUint32(f[offMessage:], method)
	le.PutUint64(f[offSequence:], seq)
	f[offCall] = call
}
