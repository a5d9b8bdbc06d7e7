package scenarios

import (
	"msgbench/results"
	"msgbench/transports"
)

// PingPong sends a counter and gets it back plus one, one message in flight.
var PingPong = Scenario{
	Name:       "ping-pong",
	Summary:    "one request, one reply, one in flight: a counter comes back plus one",
	Pattern:    transports.RequestReply,
	Payload:    true,
	Paced:      true,
	MaxMessage: func(p Params) int { return envelope + p.Payload },
	Roles:      clientServer(pingPongClient, counterServer),
	Join:       joinReplies(func(p Params) account { return onlyOne(p, p.Payload) }),
}

func pingPongClient(s *Side) (*results.Measurement, error) {
	p := &pinger{requester: newRequester(s.conn()), message: s.message()}
	m, err := drive(s, p.requester, p)
	if err != nil {
		return nil, err
	}
	m.LatencyKind = latencyKind(s.Params)
	m.Messages = m.Ops
	m.PayloadBytes = m.Ops * int64(s.Params.Payload)
	m.RequestBytes, m.ResponseBytes = int64(len(p.message)), int64(len(p.message))
	return m, nil
}

type pinger struct {
	*requester
	message counterMessage
}

// do sends one request and checks every byte of its reply.
func (p *pinger) do(now int64) (int64, int64, error) {
	p.message.put(p.seq + 1)
	if err := p.send(p.message, now, kindRequest); err != nil {
		return 0, 0, err
	}
	reply, err := p.receive(kindReply)
	if err != nil {
		return 0, 0, err
	}
	return 1, now, p.message.check(reply, p.replied)
}
