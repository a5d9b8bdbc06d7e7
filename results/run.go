package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// The files of a run directory.
const (
	RunFile     = "run.json"
	JournalFile = "samples.jsonl"
	CSVFile     = "results.csv"
	ReportFile  = "report.md"
	PageFile    = "report.html"
	ProfileDir  = "profiles" // of run --profile
)

// FormatVersion is the version of run.json, of the journal and of the CSV.
const FormatVersion = 1

// Policy is how many samples a cell gets and when its row is publishable. DefaultPolicy gives the defaults.
type Policy struct {
	Samples      int      `json:"samples" yaml:"samples"`             // a cell and attempt; with Precision: at least
	Duration     Duration `json:"duration" yaml:"duration"`           // window at a fixed rate
	MaxDuration  Duration `json:"max_duration" yaml:"max-duration"`   // window at max
	Warmup       Duration `json:"warmup" yaml:"warmup"`               // at least; and at least 1,000 operations, at most 1 s
	WarmupOps    int64    `json:"warmup_ops,omitempty" yaml:"-"`      // instead of Warmup; 0: by time
	Count        int64    `json:"count,omitempty" yaml:"count"`       // operations of a window instead of its duration; 0: by duration
	Trim         float64  `json:"trim" yaml:"trim"`                   // share dropped at each end for the core, rounded down
	MinCore      int      `json:"min_core" yaml:"min-core"`           // samples that must be left
	CoreRatio    float64  `json:"core_ratio" yaml:"core-ratio"`       // largest max/min in the core, and in raw samples without a note
	MinDelivered float64  `json:"min_delivered" yaml:"min-delivered"` // share of the target rate
	MaxRamp      float64  `json:"max_ramp" yaml:"max-ramp"`           // largest ratio between the last and the first third of a window
	RT           int      `json:"rt,omitempty" yaml:"rt"`             // SCHED_FIFO priority of the workers; 0: scheduled as usual
	Mlock        bool     `json:"mlock,omitempty" yaml:"mlock"`       // workers lock their memory
	Reruns       int      `json:"reruns" yaml:"reruns"`               // whole reruns of a cell that falls short: 0 or 1

	// MaxInterference is the share of the CPUs' time that steal and other processes may take before a sample is disturbed; 0: any.
	// Budget is how many disturbed samples are measured again, as a share of all samples.
	MaxInterference float64 `json:"max_interference,omitempty" yaml:"max-interference"`
	Budget          float64 `json:"interference_budget,omitempty" yaml:"interference-budget"`
	Calibrate       bool    `json:"calibrate,omitempty" yaml:"calibrate"` // measure the machine at the start of each round

	// Order is that of the cells within a round: OrderPage, or empty for a random one.
	Order string `json:"order,omitempty" yaml:"order"`

	// Precision is how far the ends of the 95 % intervals of the median throughput and of p50 may lie from the median, in
	// parts of it: samples are taken until they do not, or a limit is reached. 0: Samples, and no more. MaxTime is one of
	// the limits: no more samples are begun that would take the run beyond it; 0: none.
	Precision float64  `json:"precision,omitempty" yaml:"precision"`
	MaxTime   Duration `json:"max_time,omitempty" yaml:"max-time"`

	// Ceiling: search for the highest stable rate of each data-rate cell at max, in steps that are measured for CeilingStep
	// after CeilingSettle.
	Ceiling       bool     `json:"ceiling,omitempty" yaml:"ceiling"`
	CeilingStep   Duration `json:"ceiling_step,omitempty" yaml:"ceiling-step"`
	CeilingSettle Duration `json:"ceiling_settle,omitempty" yaml:"ceiling-settle"`
}

// OrderPage is the order of the page of netdata/plugin-ipc: scenario and transport, then rate, max first, then server, then
// client.
const OrderPage = "page"

// DefaultPolicy is the policy where neither flag nor suite says otherwise.
func DefaultPolicy() Policy {
	return Policy{
		Samples: 5, Duration: Duration(5 * time.Second), MaxDuration: Duration(20 * time.Second),
		Warmup: Duration(200 * time.Millisecond),
		Trim:   0.2, MinCore: 3, CoreRatio: 1.35, MinDelivered: 0.99, MaxRamp: 1.35, Reruns: 1,
		MaxInterference: 0.05, Budget: 0.2, Calibrate: true,
		CeilingStep: Duration(5 * time.Second), CeilingSettle: Duration(time.Second),
	}
}

// Duration is a time.Duration that reads and writes "600ms" in JSON and YAML.
type Duration time.Duration

func (d Duration) String() string { return time.Duration(d).String() }

// MarshalText writes the form of time.Duration.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads the form of time.ParseDuration.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%q is not a duration like 500ms or 5s", text)
	}
	*d = Duration(v)
	return nil
}

// Fact is one line of what is known of a run, as in the head of the CSV.
type Fact struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// Run is run.json: what was asked for, and where.
type Run struct {
	Version     int       `json:"msgbench_run"`
	Created     time.Time `json:"created"`
	Msgbench    string    `json:"msgbench"` // version
	CommandLine []string  `json:"command_line"`
	Suite       string    `json:"suite"`
	Seed        uint64    `json:"seed"`
	Pin         string    `json:"pin"` // plan
	Policy      Policy    `json:"policy"`
	Cells       []Cell    `json:"cells"`
	Machine     string    `json:"machine"` // one word or line that names it
	// Build is of the program where Msgbench does not tell it from others, and Boot of the machine, which may have the name of
	// others of its kind; both are compared, and empty where they are not known.
	Build string `json:"build,omitempty"`
	Boot  string `json:"boot,omitempty"`
	// Installation is that of the machine's system, which stays over boots; empty where it is not known.
	Installation string `json:"installation,omitempty"`
	// Server is the host of all processes that listen, where that is another one than the client's.
	Server *ServerHost `json:"server_host,omitempty"`
	// Shard is "i/n" where this is one part of a run, and Whole the keys of all its parts; empty for a whole run.
	Shard string   `json:"shard,omitempty"`
	Whole []string `json:"whole,omitempty"`
	// Machines are those of cells that were measured elsewhere than on Machine, by key: of a run merged from shards.
	Machines map[string]string `json:"machines,omitempty"`
	// AB is what the run sets against each other, pair by pair; nil where it does not.
	AB          *AB             `json:"ab,omitempty"`
	Resumptions []Resumption    `json:"resumptions,omitempty"`
	Programs    []Program       `json:"programs,omitempty"`
	Profile     bool            `json:"profile,omitempty"` // the workers in Go wrote CPU profiles while they were measured
	Facts       []Fact          `json:"facts"`             // for people, in the order of the CSV's head
	Environment json.RawMessage `json:"environment,omitempty"`
}

// Resumption is one time that a run went on, after it had ended or had been interrupted.
type Resumption struct {
	At  time.Time `json:"at"`
	How string    `json:"how"` // resume or retry
	// Cells are the keys of those that were measured again; of a retry only.
	Cells []string `json:"cells,omitempty"`
	// Boots is Run.Boots of the machines by then. Samples that were taken after another boot than the run's first have it.
	Boots string `json:"boots,omitempty"`
	// Changed is what of the environment is no longer as the run found it, one change a line.
	Changed []string `json:"changed,omitempty"`
}

// Program is one of others that is a side of cells: what was plugged in, or the programs of areg-sdk.
type Program struct {
	Peer   string `json:"peer"`
	Path   string `json:"path"`   // absolute; of areg-sdk the folder
	SHA256 string `json:"sha256"` // of the file in hex; of areg-sdk of all three, one after the other
}

// AB is two settings or two builds, A and B, that were measured next to each other in each round.
type AB struct {
	Setting  string    `json:"setting"` // a part of the key or a dimension; Build for two builds
	A        string    `json:"a"`       // values of the setting
	B        string    `json:"b"`
	Pairs    []Pair    `json:"pairs"`              // no cell in two of them
	Baseline *Baseline `json:"baseline,omitempty"` // of two builds
}

// Build is the setting of a run that sets two builds of msgbench against each other; BaselinePeer is the peer that the
// older one is in cells.
const (
	Build        = "build"
	BaselinePeer = "baseline"
)

// Pair is two cells, by their keys.
type Pair struct {
	A string `json:"a"`
	B string `json:"b"`
}

// Baseline is the program that is side A of two builds, and this msgbench itself, which is side B.
type Baseline struct {
	Path     string            `json:"path"`
	SHA256   string            `json:"sha256"` // of the file, in hex
	Versions map[string]string `json:"versions,omitempty"`
	This     string            `json:"this_sha256"`
}

// Partner is the other cell of the pair of a cell, by their keys; empty where it has none. A nil AB has no pairs.
func (ab *AB) Partner(key string) string {
	if ab == nil {
		return ""
	}
	for _, p := range ab.Pairs {
		switch key {
		case p.A:
			return p.B
		case p.B:
			return p.A
		}
	}
	return ""
}

// ServerHost is another host on which the processes that listen run.
type ServerHost struct {
	Name         string   `json:"name"`    // as it was given
	Command      []string `json:"command"` // that starts msgbench there
	Address      string   `json:"address"` // IPv4, that its processes listen on
	Machine      string   `json:"machine"`
	Boot         string   `json:"boot,omitempty"`
	Installation string   `json:"installation,omitempty"`
	Kernel       string   `json:"kernel,omitempty"`
}

// Boots tells the machines of a run apart from others of their names, and from themselves after another boot: that of the
// client and, on two hosts, of the server.
func (r Run) Boots() string {
	if r.Server == nil {
		return r.Boot
	}
	return r.Boot + " " + r.Server.Boot
}

// MachineOf is the machine that measured a cell.
func (r Run) MachineOf(key string) string {
	if m, ok := r.Machines[key]; ok {
		return m
	}
	return r.Machine
}

// WriteRun writes run.json into dir.
func WriteRun(dir string, r Run) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return WriteFile(filepath.Join(dir, RunFile), append(data, '\n'))
}

// ReadRun reads run.json of dir.
func ReadRun(dir string) (Run, error) {
	path := filepath.Join(dir, RunFile)
	var r Run
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return r, fmt.Errorf("%s: no %s there: not a run directory", dir, RunFile)
	}
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return r, fmt.Errorf("%s: %w", path, err)
	}
	if r.Version != FormatVersion {
		return r, fmt.Errorf("%s: msgbench_run is %d, this msgbench reads %d", path, r.Version, FormatVersion)
	}
	return r, nil
}
