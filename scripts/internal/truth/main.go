// Truth holds msgbench's figures against those of programs that measure the same, pair by pair on the same cores, and says
// whether they are equal. scripts/truth starts it; it prints a table in markdown.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"msgbench/results"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "scripts/truth:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("scripts/truth", flag.ExitOnError)
	maxPairs := flags.Int("pairs", 60, "pairs after which a comparison ends")
	window := flags.Duration("window", 300*time.Millisecond, "about how long each side is measured")
	only := flags.String("only", "", "only comparisons whose name contains this")
	msgbench := flags.String("msgbench", "", "the msgbench to measure with")
	lat := flags.String("lat", "", "folder of the programs lat_zmq, lat_nng and lat_nanomsg")
	programs := map[string]*string{}
	for _, l := range libraries {
		programs[l.name] = flags.String(l.name, "", "LOCAL,REMOTE: "+l.name+"'s own latency programs; without them a plain C ping-pong stands in")
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 || *maxPairs < 1 || *window < 50*time.Millisecond {
		return fmt.Errorf("want no arguments, --pairs of at least 1, --window of at least 50ms")
	}
	dir, err := os.MkdirTemp("", "truth-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)

	bench := &msgbenchSide{exe: *msgbench, dir: dir, window: *window}
	var all []*comparison
	for _, l := range libraries {
		p, err := newProgram(l, *programs[l.name], *lat, dir, *window)
		if err != nil {
			return err
		}
		defer p.close()
		all = append(all, libraryComparisons(bench, p, l)...)
	}
	all = append(all, languageComparisons(bench)...)
	all = named(all, *only)
	if len(all) == 0 {
		return fmt.Errorf("no comparison has %q in its name", *only)
	}
	for round := 0; round < *maxPairs; round++ {
		open := 0
		for _, c := range all {
			if c.answer(*maxPairs) != undecided {
				continue
			}
			open++
			if err := c.pair(ctx, round); err != nil {
				fmt.Print(table(all, *maxPairs)) // what is known by then
				return fmt.Errorf("%s: %w", c.name, err)
			}
		}
		if open == 0 {
			break
		}
		fmt.Fprintf(os.Stderr, "pair %d: %d of %d comparisons undecided\n", round+1, open, len(all))
	}
	fmt.Print(table(all, *maxPairs))
	return nil
}

func named(all []*comparison, part string) []*comparison {
	var out []*comparison
	for _, c := range all {
		if strings.Contains(c.name, part) {
			out = append(out, c)
		}
	}
	return out
}

// libraryComparisons sets the workers on a library beside a program on it, over both transports and at both sizes. The
// program's messages are as long as the worker's, whose payload follows an envelope.
func libraryComparisons(bench *msgbenchSide, p *program, l library) []*comparison {
	var all []*comparison
	for _, scheme := range []string{"tcp", "ipc"} {
		for _, payload := range []int{64, 1000} {
			cell := l.cell
			cell.Transport, cell.Payload = l.wire+"-"+scheme, payload
			all = append(all, &comparison{
				name:  fmt.Sprintf("%s, %s, %d B", l.peer, scheme, payload),
				a:     "msgbench " + cell.Key(),
				b:     p.title,
				limit: 0.05,
				sideA: func(ctx context.Context) (float64, error) { return bench.oneWay(ctx, cell) },
				sideB: func(ctx context.Context) (float64, error) { return p.oneWay(ctx, scheme, payload+envelope) },
			})
		}
	}
	return all
}

// languageComparisons sets the workers in other languages beside those in C.
func languageComparisons(bench *msgbenchSide) []*comparison {
	var all []*comparison
	for _, peer := range []string{"rust", "go"} {
		for _, transport := range []string{"pipe", "uds", "shm"} {
			limit := 0.10
			switch {
			case peer == "go" && transport == "shm":
				limit = 0.25
			case peer == "go":
				limit = 0.15
			}
			side := func(peer string) (results.Cell, func(context.Context) (float64, error)) {
				cell := results.Cell{Scenario: "ping-pong", Transport: transport, Client: peer, Server: peer, Payload: 64}
				return cell, func(ctx context.Context) (float64, error) { return bench.oneWay(ctx, cell) }
			}
			cellA, a := side(peer)
			cellB, b := side("c")
			all = append(all, &comparison{name: fmt.Sprintf("%s→%s, %s", peer, peer, transport), a: cellA.Key(), b: cellB.Key(), limit: limit, sideA: a, sideB: b})
		}
	}
	return all
}

// tempName is a short path below dir that does not exist: socket paths have 107 characters at most.
func tempName(dir, name string) string {
	path := filepath.Join(dir, name)
	_ = os.Remove(path)
	return path
}
