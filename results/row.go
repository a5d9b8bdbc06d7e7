package results

import "strings"

// The verdicts. They are drawn after the run, over all cells; package stability holds the rules.
const (
	Stable         = "stable"
	Recovered      = "recovered"
	Oversubscribed = "oversubscribed"
	Unstable       = "unstable"
	// Failed and Skipped are outcomes of samples too.
	Imported = "imported"
)

// The words of Row.Trend.
const (
	Falling = "falling"
	Rising  = "rising"
)

// Publishable tells whether rankings, comparisons and floors may use rows of this verdict.
func Publishable(verdict string) bool {
	return verdict == Stable || verdict == Recovered || verdict == Oversubscribed
}

// ProcessCPU is the option of a row whose CPU columns are not of the window alone: they hold all that the processes have used
// from the start of the last of them to the end of the window, and so are at least what the window has used.
const ProcessCPU = "cpu=process"

// OfProcesses tells whether the CPU columns of the row are an upper bound: see ProcessCPU.
func (r *Row) OfProcesses() bool {
	if !strings.Contains(r.Options, ProcessCPU) { // asked of every row again and again
		return false
	}
	for option := range strings.SplitSeq(r.Options, ";") {
		if option == ProcessCPU {
			return true
		}
	}
	return false
}

// broadcast is the scenario whose operations, publications, may be dropped on their way.
const broadcast = "broadcast"

// Speed is what rows at max are compared by, per second, with its interval: operations, but of a broadcast the messages that were
// delivered, since what was published is worth nothing where it was dropped. Where messages were lost there is no interval: that of
// the publications is none of the deliveries.
func (r *Row) Speed() (v, lo, hi Num) {
	delivered, ok := r.MessagesPerS.Value()
	published := r.Throughput.Or(0)
	if r.Scenario != broadcast || !ok {
		return r.Throughput, r.ThroughputLo, r.ThroughputHi
	}
	if lost, told := r.Lost.Value(); !told || lost != 0 || published <= 0 {
		return r.MessagesPerS, Num{}, Num{}
	}
	each := delivered / published // subscribers
	scaled := func(n Num) Num {
		if v, ok := n.Value(); ok {
			return N(v * each)
		}
		return n
	}
	return r.MessagesPerS, scaled(r.ThroughputLo), scaled(r.ThroughputHi)
}

// Row is a cell, its verdict and its aggregated figures: one line of the CSV, in the order of the fields. Units are in
// the column names: us is 10⁻⁶ s, MB is 10⁶ bytes, pct is per cent of one CPU. An empty field was not measured.
type Row struct {
	Cell        string `csv:"cell"` // key
	Scenario    string `csv:"scenario"`
	Transport   string `csv:"transport"`
	Client      string `csv:"client"`
	Server      string `csv:"server"`
	Payload     Num    `csv:"payload_bytes"` // without the 32-byte envelope
	Loop        string `csv:"loop"`
	TargetRPS   string `csv:"target_rps"` // "max" or an integer
	Wait        string `csv:"wait"`
	Mode        string `csv:"mode"`
	Depth       string `csv:"depth"` // effective
	Subscribers string `csv:"subscribers"`
	Scope       string `csv:"scope"`
	Options     string `csv:"options"` // name=value of what the adapter chose, joined by ";"

	Throughput   Num `csv:"throughput"` // operations per second: median of the valid samples
	ThroughputLo Num `csv:"throughput_lo"`
	ThroughputHi Num `csv:"throughput_hi"`
	MessagesPerS Num `csv:"messages_per_s"`
	MBPerS       Num `csv:"mb_per_s"`
	// Of one-way streams. Peak is the best full second, sustained the median over full seconds of windows of 30 s or more.
	PeakPerS     Num `csv:"peak_per_s"` // messages
	Sustained    Num `csv:"sustained_per_s"`
	PeakMBPerS   Num `csv:"peak_mb_per_s"`
	SustainedMB  Num `csv:"sustained_mb_per_s"`
	RoutedPeak   Num `csv:"router_peak_per_s"` // as counted in a process in the middle
	RoutedSteady Num `csv:"router_sustained_per_s"`
	Ceiling      Num `csv:"ceiling_per_s"`       // the highest rate offered that held
	CeilingFails Num `csv:"ceiling_fails_per_s"` // the lowest that did not

	Latency      string `csv:"latency"`          // kind of the columns that follow
	LatencyError Num    `csv:"latency_error_us"` // bound of the error of one-way latencies: step of the clock, cost of a reading
	MinUs        Num    `csv:"min_us"`
	MinLo        Num    `csv:"min_lo"` // the smallest and the largest minimum of a sample
	MinHi        Num    `csv:"min_hi"`
	MeanUs       Num    `csv:"mean_us"`
	P50Us        Num    `csv:"p50_us"`
	P50Lo        Num    `csv:"p50_lo"`
	P50Hi        Num    `csv:"p50_hi"`
	P90Us        Num    `csv:"p90_us"`
	P95Us        Num    `csv:"p95_us"`
	P99Us        Num    `csv:"p99_us"`
	P99Lo        Num    `csv:"p99_lo"`
	P99Hi        Num    `csv:"p99_hi"`
	P999Us       Num    `csv:"p999_us"`
	MaxUs        Num    `csv:"max_us"`
	SvcP50Us     Num    `csv:"svc_p50_us"`
	SvcP95Us     Num    `csv:"svc_p95_us"`
	SvcP99Us     Num    `csv:"svc_p99_us"`
	LateP99      Num    `csv:"late_p99_us"`

	ClientCPU Num `csv:"client_cpu_pct"` // client or publisher, without what the pacer spun
	ServerCPU Num `csv:"server_cpu_pct"` // server, or all subscribers
	BrokerCPU Num `csv:"broker_cpu_pct"`
	PacerCPU  Num `csv:"pacer_cpu_pct"`
	TotalCPU  Num `csv:"total_cpu_pct"` // client + server + broker, exactly
	CPUNsOp   Num `csv:"cpu_ns_per_op"` // of the total

	Sent       Num `csv:"sent"`
	Received   Num `csv:"received"`
	Lost       Num `csv:"lost"`
	Duplicated Num `csv:"duplicated"`
	Reordered  Num `csv:"reordered"`

	Samples     Num    `csv:"samples"`
	CoreSamples Num    `csv:"core_samples"`
	CoreRatio   Num    `csv:"core_ratio"`
	RawRatio    Num    `csv:"raw_ratio"`
	DriftPct    Num    `csv:"drift_pct"` // change of the metric from the first round to the last
	Trend       string `csv:"trend"`     // Falling or Rising where that is more than noise

	// What others took of the machine meanwhile (see Interference), as shares of the CPUs of the valid samples.
	StealPct      Num `csv:"steal_pct"`
	ForeignPct    Num `csv:"foreign_pct"`
	Disturbed     Num `csv:"disturbed"`      // samples that were measured again for it, in all attempts
	DisturbedKept Num `csv:"disturbed_kept"` // samples that are in this row nevertheless: the budget was used up

	Hops          Num    `csv:"hops"`
	RequestBytes  Num    `csv:"request_bytes"`
	ResponseBytes Num    `csv:"response_bytes"`
	RSSBytes      Num    `csv:"rss_bytes"` // of the receiving role
	RSSSlope      Num    `csv:"rss_slope_mb_per_s"`
	Pin           string `csv:"pin"`
	CPURelation   string `csv:"cpu_relation"`
	Machine       string `csv:"machine"`
	Source        string `csv:"source"`
	Verdict       string `csv:"verdict"`
	Reason        string `csv:"reason"`
}
