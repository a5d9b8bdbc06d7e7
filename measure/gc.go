package measure

import "runtime/metrics"

// GCStats is how much memory management there was since the process began.
type GCStats struct {
	Cycles  int64 // collections completed
	Mallocs int64 // objects allocated on the heap
}

// Since is what was added after an earlier reading.
func (s GCStats) Since(earlier GCStats) GCStats {
	return GCStats{Cycles: s.Cycles - earlier.Cycles, Mallocs: s.Mallocs - earlier.Mallocs}
}

// GCReader reads GCStats without stopping the world (as runtime.ReadMemStats does) and without allocating. The price is that
// objects are counted when a processor changes the span it allocates from: up to a few hundred of the last ones of each
// size are not seen yet.
type GCReader struct{ samples [3]metrics.Sample }

// NewGCReader returns a reader, warmed up. It is for one goroutine.
func NewGCReader() *GCReader {
	r := &GCReader{samples: [3]metrics.Sample{
		{Name: "/gc/cycles/total:gc-cycles"},
		{Name: "/gc/heap/allocs:objects"},
		{Name: "/gc/heap/tiny/allocs:objects"}, // not in the other count
	}}
	r.Read() // the first reading builds the runtime's own table
	return r
}

// Read is the statistics now.
func (r *GCReader) Read() GCStats {
	metrics.Read(r.samples[:])
	return GCStats{Cycles: r.value(0), Mallocs: r.value(1) + r.value(2)}
}

// value is sample i, or 0 where a later Go has dropped that metric.
func (r *GCReader) value(i int) int64 {
	if v := r.samples[i].Value; v.Kind() == metrics.KindUint64 {
		return int64(v.Uint64())
	}
	return 0
}
