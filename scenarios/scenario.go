// Package scenarios holds what the sides of a cell do, one file a scenario, written once against the contract of package
// transports. A scenario knows neither processes nor files: the worker hands it its connections and takes its measurement.
package scenarios

import (
	"fmt"
	"strconv"
	"time"

	"msgbench/measure"
	"msgbench/results"
	"msgbench/transports"
)

// Params are the settings of one sample.
type Params struct {
	Payload     int // bytes; results.NoPayload where it does not apply
	Rate        int // operations per second; 0: max
	Mode        string
	Depth       int           // messages in flight; 0: 1
	Subscribers int           // 0: 1
	Channels    int           // connections side by side; 0: 1
	Warmup      time.Duration // at least
	WarmupOps   int64         // operations, at least
	WarmupMax   time.Duration // at most, whatever the other two say
	Window      time.Duration
	Count       int64 // operations of the window instead of its length; 0: by length
}

// Side is what one process of a cell works with.
type Side struct {
	Role   string
	Conns  []transports.Conn // one, or as many as the scenario says
	Params Params
	// Clocks are the CPU clocks of every role; empty where they can't be read. Only the driver has them.
	Clocks []RoleClock
	// Measuring and Done are called by the driver before the window and after it.
	Measuring func()
	Done      func()
	// Broadcast is the transport's own way to reach several receivers at once; nil where it has none.
	Broadcast transports.Broadcaster
	Options   transports.Options // that the connections were made with
	// LockThread: goroutines that a scenario starts for its connections are to be locked to threads (transports.Info).
	LockThread bool
}

// conn is the connection of a scenario that has only one.
func (s *Side) conn() transports.Conn { return s.Conns[0] }

// RoleClock is the CPU clock of a process in one role.
type RoleClock struct {
	Role  string
	Clock measure.CPUClock
}

// Role is one part of a scenario. Processes of roles that listen are started first; the one that dials connects to all of
// them, runs the window and is called the driver.
type Role struct {
	Name      string
	Processes int
	Listens   bool
	Conns     int // of each process that listens
	Run       func(*Side) (*results.Measurement, error)
}

// Dim is a dimension that a scenario has beside those of its transport.
type Dim struct {
	Name    string
	Default func(rate int) string
	Check   func(value string, rate int) error
}

// Scenario says what one operation is and what each role does.
type Scenario struct {
	Name    string
	Summary string // what one operation is, one line for `list scenarios`
	Pattern transports.Pattern
	// NoTransport: one process measures something without a transport; its cells have "-" there.
	NoTransport bool
	// Payload: the size of messages is to be chosen. Paced: it can run at a fixed rate.
	Payload, Paced bool
	Dims           []Dim
	// MaxMessage is the size in bytes of the largest message, envelope included.
	MaxMessage func(Params) int
	// Fields are the typed parameters of its messages where their payload is not chosen, by kind (transports.Options);
	// nil: it has none.
	Fields func(kind uint32) transports.Fields
	// Roles are those of a cell, the ones that listen before the driver.
	Roles func(Params) []Role
	// Join makes one measurement of what the driver and the processes of the other roles found, or says what contradicts.
	Join func(p Params, driver *results.Measurement, others []*results.Measurement) error
}

// Table holds every scenario.
var Table = []Scenario{PingPong, Batch, Pipeline, PipelineBatch, Snapshot, Lookup, Broadcast, DataRate}

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

// TypedFields are Fields, also where it has none.
func (s Scenario) TypedFields(kind uint32) transports.Fields {
	if s.Fields == nil {
		return nil
	}
	return s.Fields(kind)
}

// Driver is the role that dials and runs the window.
func (s Scenario) Driver(p Params) Role {
	for _, r := range s.Roles(p) {
		if !r.Listens {
			return r
		}
	}
	panic(s.Name + " has no role that dials") // a mistake in this package
}

// Role finds a role of a cell by its name.
func (s Scenario) Role(p Params, name string) (Role, error) {
	for _, r := range s.Roles(p) {
		if r.Name == name {
			return r, nil
		}
	}
	return Role{}, fmt.Errorf("scenario %s has no role %q", s.Name, name)
}

// SetDims sets the parameters that the dimensions of a cell stand for. Unknown ones are the transport's.
func (p *Params) SetDims(dims map[string]string) error {
	p.Mode = dims["mode"]
	for _, d := range []struct {
		name string
		into *int
	}{{"depth", &p.Depth}, {"subscribers", &p.Subscribers}, {"channels", &p.Channels}} {
		v, ok := dims[d.name]
		if !ok {
			continue
		}
		n, err := strconv.Atoi(v)
		if err != nil || n < 1 {
			return fmt.Errorf("%s: %q is not a number from 1", d.name, v)
		}
		*d.into = n
	}
	return nil
}

// clientServer are the roles of a scenario in which one client asks one server.
func clientServer(client, server func(*Side) (*results.Measurement, error)) func(Params) []Role {
	return func(Params) []Role {
		return []Role{
			{Name: results.Server, Processes: 1, Listens: true, Conns: 1, Run: server},
			{Name: results.Client, Processes: 1, Run: client},
		}
	}
}

// fixedDefault is the Default of a dimension whose default is the same at every rate.
func fixedDefault(v string) func(int) string { return func(int) string { return v } }

// numberFrom1 is the Check of a dimension that is a number from 1 to most.
func numberFrom1(most int) func(string, int) error {
	return func(v string, _ int) error {
		if n, err := strconv.Atoi(v); err != nil || n < 1 || n > most {
			return fmt.Errorf("%q is not a number from 1 to %d", v, most)
		}
		return nil
	}
}
