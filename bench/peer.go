package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
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
	ctx, cancel := context.WithTimeout(ctx, describeTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "worker", "--describe")
	cmd.WaitDelay = time.Second
	out, err := cmd.StdoutPipe()
	if err != nil {
		return Peer{}, err
	}
	if err := cmd.Start(); err != nil {
		return Peer{}, err
	}
	said, readErr := io.ReadAll(io.LimitReader(out, describeSize))
	if len(said) == describeSize {
		cancel() // it may print for ever
	}
	err = cmd.Wait()
	switch {
	case len(said) == describeSize:
		return Peer{}, fmt.Errorf("--describe printed %d KiB or more", describeSize>>10)
	case ctx.Err() != nil:
		return Peer{}, fmt.Errorf("--describe did not end within %s", describeTime)
	}
	if err := errors.Join(readErr, err); err != nil {
		return Peer{}, fmt.Errorf("--describe: %w", err)
	}
	return parseHello(path, said)
}

// parseHello reads the answer to --describe.
func parseHello(path string, said []byte) (Peer, error) {
	first, _, _ := bytes.Cut(said, []byte("\n"))
	word, rest, _ := strings.Cut(string(first), " ")
	version, text, _ := strings.Cut(rest, " ")
	if word != protocol.Hello {
		return Peer{}, fmt.Errorf("--describe printed %q where %q was expected", shorten(string(first), 60), protocol.Hello)
	}
	if version != fmt.Sprint(protocol.Version) {
		return Peer{}, fmt.Errorf("speaks version %q of the protocol, this msgbench version %d", shorten(version, 20), protocol.Version)
	}
	var d protocol.Description
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		return Peer{}, fmt.Errorf("--describe: %w", err)
	}
	return Peer{Path: path, Transports: slices.Concat([]string{}, d.Transports), Scenarios: slices.Concat([]string{}, d.Scenarios),
		FixedPort: !d.Port0, Versions: d.Versions}, nil
}
