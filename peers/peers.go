// Package peers holds workers in other languages: their sources, which are part of the binary, and how they are built.
package peers

import (
	"embed"
	"io/fs"
	"path"
	"slices"
)

//go:embed c/*.c c/*.h rust/*.rs
var sources embed.FS

// Peer is one implementation of both sides of some transports, as it describes itself once it is built.
type Peer struct {
	Name       string
	Summary    string // one line for `list peers`
	Transports []string
	Scenarios  []string
	Port0      bool // can listen on a port that the system chooses
	NoNagle    bool // sets TCP_NODELAY whatever it is told
	build      recipe
}

// recipe is how a peer is compiled.
type recipe struct {
	main    string   // the file of sources that makes it this peer
	shared  []string // and those that it has in common with others
	library *library
}

// library is a C library that a peer is linked to.
type library struct {
	name    string // in messages
	header  string
	pkg     string // of pkg-config; empty where there is none
	link    string // what to say to the linker then
	debian  string // package that brings it
	symbols string // a call, to see that it links
}

var (
	plainTransports  = []string{"pipe", "shm", "uds", "tcp"}
	scenarioNames    = []string{"ping-pong", "batch", "pipeline", "pipeline-batch", "snapshot", "lookup"}
	cScenarios       = slices.Concat(scenarioNames, oneWayScenarios)
	oneWayScenarios  = []string{"broadcast", "data-rate"}
	libraryScenarios = slices.Concat(scenarioNames[:5], oneWayScenarios) // without a transport a library has nothing to show

	cWorker = []string{"c/main.c", "c/leave.c", "c/measure.c", "c/hist.c", "c/result.c", "c/drive.c", "c/exchange.c", "c/counter.c",
		"c/batch.c", "c/registry.c", "c/snapshot.c", "c/oneway.c", "c/datarate.c", "c/broadcast.c", "c/subscriber.c", "c/rawfd.c"}
	cPlain = []string{"c/tcp.c", "c/uds.c", "c/pipe.c", "c/shm.c", "c/shm_ring.c"}
)

// Table holds every peer beside `go`, in the order of lists.
var Table = []Peer{
	{Name: "c", Summary: "C11, no library", Transports: plainTransports, Scenarios: cScenarios, Port0: true,
		build: recipe{main: "c/peer_c.c", shared: slices.Concat(cWorker, cPlain)}},
	{Name: "rust", Summary: "Rust, standard library", Transports: plainTransports, Scenarios: scenarioNames, Port0: true,
		build: recipe{main: "rust/main.rs"}},
	{Name: "libzmq", Summary: "ZeroMQ's own library, in C++, called from C", Transports: []string{"zmq-tcp", "zmq-ipc"},
		Scenarios: libraryScenarios, Port0: true, NoNagle: true,
		build: recipe{main: "c/peer_libzmq.c", shared: cWorker, library: &library{
			name: "libzmq", header: "zmq.h", pkg: "libzmq", link: "-lzmq", debian: "libzmq3-dev", symbols: "zmq_ctx_new()"}}},
	{Name: "libnng", Summary: "NNG's own library, in C", Transports: []string{"nng-tcp", "nng-ipc"},
		Scenarios: libraryScenarios, Port0: true,
		build: recipe{main: "c/peer_libnng.c", shared: cWorker, library: &library{
			name: "libnng", header: "nng/nng.h", link: "-lnng", debian: "libnng-dev", symbols: "nng_version()"}}},
	{Name: "libnanomsg", Summary: "nanomsg's own library, in C", Transports: []string{"nng-tcp", "nng-ipc"},
		Scenarios: libraryScenarios,
		build: recipe{main: "c/peer_libnanomsg.c", shared: cWorker, library: &library{
			name: "libnanomsg", header: "nanomsg/nn.h", pkg: "nanomsg", link: "-lnanomsg", debian: "libnanomsg-dev", symbols: "nn_errno()"}}},
}

// Find returns the peer of that name.
func Find(name string) (Peer, bool) {
	i := slices.IndexFunc(Table, func(p Peer) bool { return p.Name == name })
	if i < 0 {
		return Peer{}, false
	}
	return Table[i], true
}

// rust tells whether the peer is written in Rust; the others are C.
func (p Peer) rust() bool { return path.Ext(p.build.main) == ".rs" }

// files are the names of all sources that a change of must rebuild the peer.
func (p Peer) files() []string {
	pattern := "c/*.h"
	if p.rust() {
		pattern = "rust/*.rs"
	}
	headers, err := fs.Glob(sources, pattern)
	if err != nil {
		panic(err) // a mistake in the pattern
	}
	all := slices.Concat(headers, []string{p.build.main}, p.build.shared)
	slices.Sort(all)
	return slices.Compact(all)
}
