package cli

import (
	"context"
	"encoding/hex"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"msgbench/bench"
	"msgbench/broker"
)

func newBroker(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "broker serve",
		Short: "Run the message router of the brokered transport alone",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("msgbench broker: unknown command %q (want serve)", args[0])
			}
			return nil
		},
		RunE: func(*cobra.Command, []string) error { return usagef("msgbench broker: want serve") },
	}
	cmd.AddCommand(newBrokerServe(s))
	return cmd
}

// brokerOptions are the flags of broker serve.
type brokerOptions struct {
	listen, slow, token string
	queue, maxMessage   string
	heartbeat           time.Duration
	maxConns            int
}

func newBrokerServe(s streams) *cobra.Command {
	var o brokerOptions
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Route messages until interrupted",
		Long: `Run the router of the transports broker and broker-uds alone, until interrupted. The first line on standard output is
its endpoint; what becomes of connections goes to standard error, and at the end what was forwarded to standard output.
docs/wire-broker.md tells how to talk to it.

Exit status: 0 interrupted; 1 it could not listen; 2 bad usage.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, settings, err := o.open()
			if err != nil {
				return err
			}
			return serveBroker(cmd.Context(), s, l, settings)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.listen, "listen", "127.0.0.1:8181", "address of TCP, or unix:PATH")
	f.StringVar(&o.slow, "slow", string(broker.Block), "what a full queue does: block the sender, or drop the message and count it")
	f.StringVar(&o.token, "token", "", "hex digits that a connection has to show; empty: nothing")
	f.StringVar(&o.queue, "queue", "1MiB", "bytes that may wait for one connection")
	f.StringVar(&o.maxMessage, "max-message", "64MiB", "bytes of the largest body")
	f.DurationVar(&o.heartbeat, "heartbeat", 10*time.Second, "how long a connection may be silent before it is asked; after six times it is closed")
	f.IntVar(&o.maxConns, "max-connections", 4096, "connections at once")
	return cmd
}

// open checks the flags and listens.
func (o brokerOptions) open() (net.Listener, broker.Options, error) {
	var b broker.Options
	for _, v := range []struct {
		flag, text string
		into       *int
		extra      int
	}{{"queue", o.queue, &b.Queue, 0}, {"max-message", o.maxMessage, &b.MaxFrame, broker.HeaderSize}} {
		n, err := bench.ParseSize(v.text)
		if err != nil || n < 1 || n > 1<<30 {
			return nil, b, usagef("--%s %s: want a number of bytes from 1 to 1GiB, like 64KiB", v.flag, v.text)
		}
		*v.into = n + v.extra
	}
	b.Slow, b.Heartbeat, b.MaxConns = broker.Policy(o.slow), o.heartbeat, o.maxConns
	if b.Slow != broker.Block && b.Slow != broker.Drop {
		return nil, b, usagef("--slow %s: want %s or %s", o.slow, broker.Block, broker.Drop)
	}
	if o.heartbeat < time.Millisecond {
		return nil, b, usagef("--heartbeat %s: want a duration from 1ms", o.heartbeat)
	}
	if o.maxConns < 1 {
		return nil, b, usagef("--max-connections %d: want a number from 1", o.maxConns)
	}
	var err error
	if b.Token, err = hex.DecodeString(o.token); err != nil {
		return nil, b, usagef("--token: want an even number of hex digits")
	}
	network, address := "tcp", o.listen
	if path, ok := strings.CutPrefix(o.listen, "unix:"); ok {
		network, address = "unix", path
	}
	l, err := net.Listen(network, address)
	if err != nil {
		return nil, b, fmt.Errorf("--listen %s: %w", o.listen, err)
	}
	return l, b, nil
}

// serveBroker runs the router until ctx ends.
func serveBroker(ctx context.Context, s streams, l net.Listener, o broker.Options) error {
	o.Log = func(line string) { fmt.Fprintf(s.err, "broker: %s\n", line) }
	r := broker.New(l, o)
	fmt.Fprintf(s.out, "%s\n", broker.Endpoint(r.Addr(), o.Token))
	closed := context.AfterFunc(ctx, func() { r.Close() })
	defer closed()
	if err := r.Serve(); err != nil {
		return err
	}
	c := r.Counts()
	fmt.Fprintf(s.out, "%d messages of %d B forwarded, %d dropped, %d undeliverable; %d connections, %d refused; %d waits\n",
		c.Messages, c.Bytes, c.Dropped, c.Undeliverable, c.Accepted, c.Refused, c.Waits)
	return nil
}
