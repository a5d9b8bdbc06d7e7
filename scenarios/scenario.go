// Package scenarios holds what the sides of a cell do, one file a scenario, written once against the contract of package
// transports. A scenario knows neither processes nor files: the worker hands it a connection and takes its measurement.
package scenarios

import (
	"fmt"
	"time"

	"msgbench/measure"
	"msgbench/results"
	"msgbench/transports"
)

// Params are the settings of one sample.
type Params struct {
	Payload   int           // bytes; results.NoPayload where it does not apply
	Rate      int           // operations per second; 0: max
	Warmup    time.Duration // at least
	WarmupOps int64         // operations, at least
	WarmupMax time.Duration // at most, whatever the other two say
	Window    time.Duration
}

// Side is what one process of a cell works with.
type Side struct {
	Conn   transports.Conn
	Params Params
	// Clocks are the CPU clocks of every role; empty where they can't be read.
	Clocks []RoleClock
	// Measuring and Done are called before the window and after it.
	Measuring func()
	Done      func()
}

// RoleClock is the CPU clock of the process in one role.
type RoleClock struct {
	Role  string
	Clock measure.CPUClock
}

// Scenario says what one operation is and what each role does.
type Scenario struct {
	Name    string
	Summary string // what one operation is, one line for `list scenarios`
	Pattern transports.Pattern
	// MaxMessage is the size in bytes of the largest message, envelope included.
	MaxMessage func(Params) int
	// Client runs the window and returns what it measured; Server answers until the client has finished, and returns its
	// own counts.
	Client func(*Side) (*results.Measurement, error)
	Server func(*Side) (*results.Measurement, error)
}

// Table holds every scenario.
var Table = []Scenario{PingPong}

// Find returns the scenario of that name.
func Find(name string) (Scenario, error) {
	for _, s := range Table {
		if s.Name == name {
			return s, nil
		}
	}
	return Scenario{}, fmt.Errorf("unknown scenario %q (known: %s)", name, names())
}

func names() string {
	var s string
	for i, x := range Table {
		if i > 0 {
			s += ", "
		}
		s += x.Name
	}
	return s
}
