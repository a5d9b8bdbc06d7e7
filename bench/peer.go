package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"msgbench/bench/protocol"
)

// BuiltIn is the name of the peer that this program is itself.
const BuiltIn = "go"

// Peer is one implementation of the sides of a cell.
type Peer struct {
	Path       string   // of its worker; empty where it is not built
	Transports []string // that it has; nil: all
	Scenarios  []string // likewise
	FixedPort  bool     // can't listen on a port that the system chooses
	NoNagle    bool     // sets TCP_NODELAY whatever it is told
	Plugged    bool     // a program of somebody else

	Versions map[string]string // of what it is made of, as it says itself
}

// has tells whether the peer can be a side of such a cell.
func (p Peer) has(scenario, transport string) bool {
	return (p.Scenarios == nil || slices.Contains(p.Scenarios, scenario)) &&
		(transport == noTransport || p.Transports == nil || slices.Contains(p.Transports, transport))
}

// pairs is every client and server of an entry that can meet, servers outermost. Peers that share no wire are left out, and
// where there is no transport a peer is only with itself.
func (c Catalog) pairs(clients, servers words, scenario, transport word, nagle bool) ([][2]word, error) {
	for _, peer := range slices.Concat(clients, servers) {
		if _, ok := c.Peers[peer.text]; !ok {
			return nil, peer.errorf("unknown peer %q (known: %s)", peer.text, strings.Join(c.PeerNames(), ", "))
		}
	}
	can := func(w word) bool {
		p := c.Peers[w.text]
		return p.has(scenario.text, transport.text) && !(nagle && p.NoNagle)
	}
	var pairs [][2]word
	for _, server := range servers {
		for _, client := range clients {
			if can(server) && can(client) && (transport.text != noTransport || server.text == client.text) {
				pairs = append(pairs, [2]word{client, server})
			}
		}
	}
	return pairs, nil
}

// describeTime bounds how long a peer may take to describe itself, and describeSize how much it may say.
const (
	describeTime = 5 * time.Second
	describeSize = 64 << 10
)

// DescribePeer asks the program at path what it can do.
func DescribePeer(ctx context.Context, path string) (Peer, error) {
	said, err := ask(ctx, []string{path, "worker", "--describe"}, describeTime)
	if err != nil {
		return Peer{}, err
	}
	p, _, err := parseHello(said)
	p.Path = path
	return p, err
}

// parseHello reads the answer to --describe.
func parseHello(said []byte) (p Peer, d protocol.Description, err error) {
	word, rest, _ := strings.Cut(string(said), " ")
	version, text, _ := strings.Cut(rest, " ")
	if word != protocol.Hello {
		return p, d, fmt.Errorf("--describe printed %q where %q was expected", shorten(string(said), 60), protocol.Hello)
	}
	if version != fmt.Sprint(protocol.Version) {
		return p, d, fmt.Errorf("speaks version %q of the protocol, this msgbench version %d", shorten(version, 20), protocol.Version)
	}
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		return p, d, fmt.Errorf("--describe: %w", err)
	}
	return Peer{Transports: slices.Concat([]string{}, d.Transports), Scenarios: slices.Concat([]string{}, d.Scenarios),
		FixedPort: !d.Port0, Versions: d.Versions}, d, nil
}
