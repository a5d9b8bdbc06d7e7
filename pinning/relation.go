package pinning

import "slices"

// How near two CPUs are.
const (
	Same            = "same"    // one CPU
	SMT             = "smt"     // two threads of one core
	Core            = "core"    // two cores of one socket
	Socket          = "socket"  // two sockets
	Remote          = "remote"  // of two hosts, which no topology holds
	UnknownRelation = "unknown" // not pinned, or not told by the system
)

// Relation is how near the CPUs of two processes are: one of Same, SMT, Core, Socket and UnknownRelation. Where either
// may run on several CPUs, it is known only if all pairs have the same.
func Relation(t Topology, a, b []int) string {
	if len(a) == 0 || len(b) == 0 {
		return UnknownRelation
	}
	relation := ""
	for _, x := range a {
		for _, y := range b {
			switch r := t.relation(x, y); {
			case relation == "":
				relation = r
			case relation != r:
				return UnknownRelation
			}
		}
	}
	return relation
}

func (t Topology) relation(a, b int) string {
	if a == b {
		return Same
	}
	x, okX := t.CPU(a)
	y, okY := t.CPU(b)
	switch {
	case !okX || !okY:
		return UnknownRelation
	case slices.Contains(x.Siblings, b):
		return SMT
	case x.Package == Unknown || y.Package == Unknown:
		return UnknownRelation
	case x.Package != y.Package:
		return Socket
	case len(x.Siblings) == 0 || len(y.Siblings) == 0:
		return UnknownRelation // one socket, but perhaps one core
	}
	return Core
}
