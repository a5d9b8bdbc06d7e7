// Package areg knows what the programs of a built areg-sdk take and write: where they are, how they are told the router's port,
// and what is in the file of samples. Package bench starts and ends them.
package areg

import (
	"fmt"
	"slices"
	"strings"

	"msgbench/broker"
	"msgbench/results"
	"msgbench/scenarios"
	"msgbench/transports"
)

// Name is that of the transport and of the only peer that speaks it.
const Name = "areg"

// Scenarios are what its example for latency does.
var Scenarios = []string{scenarios.PingPong.Name, scenarios.Broadcast.Name}

// pull is the mode of broadcast that it has.
const pull = "pull"

// Transport is areg-sdk's message router as a transport of cells. Its messages have no place for ours, so that only its own
// programs can be the sides.
type Transport struct{}

// Info tells what cells can ask for.
func (Transport) Info() transports.Info {
	return transports.Info{
		Name:       Name,
		Summary:    "the real areg-sdk (--areg DIR): its router, provider and consumer, TCP over loopback; whole stack of the framework",
		Waits:      []transports.Wait{transports.Block},
		MaxMessage: 1 << 20, // more than Sizes has
		Brokered:   true,
	}
}

// Sizes are the payloads that its example has, in bytes; none of them is a flat buffer.
func (Transport) Sizes(s transports.Scope) []int {
	if s == transports.Raw {
		return []int{}
	}
	return broker.Ladder
}

// Check says why the programs can't run a cell.
func (Transport) Check(c results.Cell) error {
	switch {
	case c.Rate > 0:
		return fmt.Errorf("rate: %s runs at max only: its pace is in whole milliseconds", Name)
	case c.Dim("mode") != "" && c.Dim("mode") != pull:
		return fmt.Errorf("mode: broadcast of %s has %s only, not %s", Name, pull, c.Dim("mode"))
	case c.Dim("subscribers") != "" && c.Dim("subscribers") != "1":
		return fmt.Errorf("subscribers: broadcast of %s has 1, not %s", Name, c.Dim("subscribers"))
	case !slices.Contains(Scenarios, c.Scenario):
		return fmt.Errorf("%s of %s: it has %s only", c.Scenario, Name, strings.Join(Scenarios, " and "))
	}
	return nil
}

// Mode is what its programs call a cell's scenario and payload.
func Mode(c results.Cell) string {
	kind := "pp"
	if c.Scenario == scenarios.Broadcast.Name {
		kind = "bc"
	}
	return fmt.Sprint(kind, c.Payload)
}
