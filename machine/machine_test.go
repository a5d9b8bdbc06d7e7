package machine

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"msgbench/pinning"
)

// fixture reads testdata/name.txt: comments, then "-- path --" before the content of each file. "mask" is the affinity of
// the process, "env" its environment.
func fixture(t *testing.T, name string) Options {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	root := fstest.MapFS{}
	var file *fstest.MapFile
	for line := range strings.Lines(string(data)) {
		if path, ok := strings.CutPrefix(line, "-- "); ok {
			file = &fstest.MapFile{}
			root[strings.TrimSuffix(strings.TrimSpace(path), " --")] = file
		} else if file != nil {
			file.Data = append(file.Data, line...)
		}
	}
	text := func(name string) string {
		if f := root[name]; f != nil {
			return string(f.Data)
		}
		return ""
	}
	mask, err := pinning.ParseList(text("mask"))
	if err != nil {
		t.Fatal(err)
	}
	topology := pinning.ReadTopology(root, mask)
	return Options{Root: root, Topology: &topology, Getenv: func(key string) string { return field(text("env"), key, "=") }}
}

func describe(t *testing.T, name string) Environment {
	t.Helper()
	e := Describe(t.Context(), fixture(t, name))
	e.OS, e.Clock.ResolutionNs, e.Clock.CostNs = "linux", 25, 30 // of the machine that tests; the rest is the fixture's
	return e
}

func TestDescribe(t *testing.T) {
	type want struct{ name, field, value string }
	for _, c := range []want{
		{"laptop", "distribution", "Ubuntu 26.04 LTS"},
		{"laptop", "kernel", "7.0.0-14-generic"},
		{"laptop", "boot_options", ""},
		{"laptop", "mitigations", `["spectre_v1","spectre_v2"]`},
		{"laptop", "huge_pages", "madvise"},
		{"laptop", "loopback_mtu", "65536"},
		{"laptop", "hypervisor", "none"},
		{"laptop", "container", ""},
		{"laptop", "cpu_quota", ""},
		{"laptop", "session", "wayland"},
		{"laptop", "desktop", "ubuntu:GNOME"},
		{"laptop", "power", "battery"},
		{"laptop", "power_profile", "balanced"},
		{"laptop", "load", `[0.91,0.52,0.4]`},
		{"laptop", "cpu.model", "13th Gen Intel(R) Core(TM) i7-13700H"},
		{"laptop", "cpu.topology", "1 socket, 4 cores, 6 threads (2 efficient)"},
		{"laptop", "cpu.smt", "on"},
		{"laptop", "cpu.governor", "powersave"},
		{"laptop", "cpu.frequency_driver", "intel_pstate"},
		{"laptop", "cpu.energy_preference", "balance_performance"},
		{"laptop", "cpu.turbo", "on"},
		{"laptop", "cpu.max_mhz", "5000"},
		{"laptop", "cpu.deepest_idle", "C6"}, // C10 is disabled
		{"laptop", "cpu.deepest_idle_ns", "220000"},
		{"laptop", "clock.source", "tsc"},
		{"laptop", "clock.available", `["tsc","hpet","acpi_pm"]`},
		{"laptop", "memory.total_bytes", "33285996544"},
		{"server", "boot_options", `["isolcpus=2-3,6-7","nohz_full=2-3,6-7","mitigations=off"]`},
		{"server", "distribution", "Debian GNU/Linux 13 (trixie)"},
		{"server", "hypervisor", "none"}, // a cloud's bare metal
		{"server", "session", "ssh"},
		{"server", "mitigations", ""},
		{"server", "cpu.topology", "2 sockets, 8 cores, 8 threads, 2 NUMA nodes"},
		{"server", "cpu.isolated", "2-3,6-7"},
		{"server", "cpu.turbo", "off"},
		{"server", "cpu.smt", "off"},
		{"container", "distribution", "Alpine Linux v3.23"},
		{"container", "hypervisor", "amazon"},
		{"container", "container", "kubernetes"},
		{"container", "cpu_quota", "1.5"},
		{"container", "memory.limit_bytes", "536870912"},
		{"container", "ci", "true"},
		{"container", "go_env", `{"GOMAXPROCS":"2"}`},
		{"docker-v1", "hypervisor", "kvm"},
		{"docker-v1", "container", "docker"},
		{"docker-v1", "cpu_quota", "0.5"},
		{"docker-v1", "memory.limit_bytes", ""},
		{"docker-v1", "cpu.smt", "none"},
		{"docker-v1", "cpu.cores", ""}, // without siblings cores can't be told from threads
		{"arm", "cpu.model", "Raspberry Pi 5 Model B Rev 1.0"},
		{"arm", "hypervisor", ""},
		{"empty", "hypervisor", ""},
		{"empty", "cpu.allowed", "0"},
	} {
		data, err := json.Marshal(describe(t, c.name))
		if err != nil {
			t.Fatal(err)
		}
		if got := lookup(t, data, c.field); got != c.value {
			t.Errorf("%s: %s is %s, want %s", c.name, c.field, got, c.value)
		}
	}
}

// lookup is a field of a JSON object by its path, without the quotes of a string; empty if it is not there.
func lookup(t *testing.T, data json.RawMessage, path string) string {
	t.Helper()
	for part := range strings.SplitSeq(path, ".") {
		var m map[string]json.RawMessage
		if err := json.Unmarshal(data, &m); err != nil {
			t.Fatal(err)
		}
		data = m[part]
	}
	return strings.Trim(string(data), `"`)
}

func TestName(t *testing.T) {
	for name, want := range map[string]string{
		"laptop":    "13th Gen Intel(R) Core(TM) i7-13700H, 4 cores, 6 threads, Ubuntu 26.04 LTS",
		"server":    "Intel(R) Xeon(R) w3-2435, 8 cores, Debian GNU/Linux 13 (trixie)",
		"container": "AMD EPYC 9R14, 2 cores, 4 threads, amazon, Alpine Linux v3.23",
		"docker-v1": "Intel(R) Xeon(R) Processor, 2 threads, kvm",
		"empty":     "1 thread",
	} {
		if got := describe(t, name).Name(); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if got := (Environment{OS: "plan9", Arch: "mips"}).Name(); got != "plan9/mips" {
		t.Errorf("nothing known: %q", got)
	}
}

// This machine, whichever it is.
func TestDescribeHere(t *testing.T) {
	e := Describe(t.Context(), Options{StealOver: 50 * time.Millisecond})
	if e.OS != runtime.GOOS || e.Go != runtime.Version() || e.Msgbench == "" || e.CPU.Threads < 1 || e.Name() == "" {
		t.Errorf("%+v", e)
	}
	data, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	if host, err := os.Hostname(); err == nil && len(host) > 3 && strings.Contains(string(data), `"`+host+`"`) {
		t.Errorf("names this machine: %s", data)
	}
	var back Environment
	if err := json.Unmarshal(data, &back); err != nil || !reflect.DeepEqual(normal(back), normal(e)) {
		t.Errorf("read back as %+v, %v; was %+v", back, err, e)
	}
}

// normal makes empty maps and lists alike.
func normal(e Environment) Environment {
	if len(e.GoEnv) == 0 {
		e.GoEnv = nil
	}
	if len(e.Libraries) == 0 {
		e.Libraries = nil
	}
	if len(e.Clock.Available) == 0 {
		e.Clock.Available = nil
	}
	return e
}

func TestDescribeCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	start := time.Now()
	Describe(ctx, Options{StealOver: time.Hour})
	if d := time.Since(start); d > time.Minute {
		t.Errorf("took %v", d)
	}
}

func TestStat(t *testing.T) {
	before := ParseStat("cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 100 0 50 800 10 5 5 30 7 0\ncpu1 0 0 0 1000 0 0 0 0 0 0\nctxt 1\n")
	after := ParseStat("cpu0 110 10 60 820 20 5 5 40 9 0\ncpu1 0 0 0 1100 0 0 0 0 0 0\ncpu2 1 1 1 1 1\nintr 5 5 5 5 5\ncpux 1 1 1 1\ncpu3 a b c d e\n")
	if len(before) != 2 || before[0] != (Ticks{Busy: 160, Idle: 810, Steal: 30, HardIRQ: 5, SoftIRQ: 5}) || before[0].Total() != 1000 {
		t.Errorf("before: %+v", before)
	}
	if len(after) != 3 || after[2] != (Ticks{Busy: 3, Idle: 2}) {
		t.Errorf("after: %+v", after)
	}
	if got := spent(before, after, []int{0}); got != (Ticks{Busy: 30, Idle: 30, Steal: 10}) {
		t.Errorf("CPU 0: %+v", got)
	}
	if got := spent(before, after, []int{0, 1, 2, 7}); got != (Ticks{Busy: 30, Idle: 130, Steal: 10}) {
		t.Errorf("all: %+v", got)
	}
	if got := spent(after, before, []int{0, 1}); got != (Ticks{}) {
		t.Errorf("backwards: %+v", got)
	}
}

func TestFree(t *testing.T) {
	before := ParseStat("cpu0 100 0 0 800 0 0 0 0\ncpu1 100 0 0 800 0 0 0 0\ncpu2 100 0 0 800 0 0 0 0\n")
	after := ParseStat("cpu0 103 0 0 900 0 0 0 0\ncpu1 110 0 0 890 0 0 0 0\ncpu2 101 0 0 890 0 0 0 9\n")
	if got := pinning.FormatList(freeOf(before, after, []int{0, 1, 2, 7})); got != "0" {
		t.Errorf("free: %s, want 0", got)
	}
}

// A mark of a container is one only where no virtual machine's disk was made from its image.
func TestContainerMark(t *testing.T) {
	const ext4, overlay = "27 1 254:0 / / rw - ext4 /dev/vda rw\n", "500 400 0:60 / / rw,relatime - overlay overlay rw\n"
	for _, c := range []struct{ mark, second, mounts, want string }{
		{".dockerenv", "kthreadd", ext4, ""},
		{".dockerenv", "kthreadd", "1 1 0:1 / / rw - rootfs rootfs rw\n" + ext4, ""},
		{".dockerenv", "kthreadd", overlay, "docker"}, // docker run --pid=host
		{".dockerenv", "", ext4, "docker"},
		{".dockerenv", "sh", ext4, "docker"},
		{".dockerenv", "kthreadd", "", "docker"},
		{"run/.containerenv", "kthreadd", ext4, ""},
		{"run/.containerenv", "", overlay, "podman"},
		{"etc/hostname", "", overlay, ""},
	} {
		root := fstest.MapFS{c.mark: {}, "proc/self/mountinfo": {Data: []byte(c.mounts)}, "proc/2/comm": {Data: []byte(c.second + "\n")}}
		if got := container(reader{root}, func(string) string { return "" }); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

func TestMemoryType(t *testing.T) {
	raw := func(kind byte, size, speed, set uint16) *fstest.MapFile {
		b := make([]byte, 0x28)
		b[0x0c], b[0x0d] = byte(size), byte(size>>8)
		b[0x12] = kind
		b[0x15], b[0x16] = byte(speed), byte(speed>>8)
		b[0x20], b[0x21] = byte(set), byte(set>>8)
		return &fstest.MapFile{Data: b}
	}
	for _, c := range []struct {
		files map[string]*fstest.MapFile
		want  string
	}{
		{nil, ""},
		{map[string]*fstest.MapFile{"17-0": raw(0x22, 0x4000, 5600, 4800)}, "DDR5 4800 MT/s"},
		{map[string]*fstest.MapFile{"17-0": raw(0x22, 0, 5600, 0), "17-1": raw(0x1a, 0x4000, 3200, 0)}, "DDR4 3200 MT/s"},
		{map[string]*fstest.MapFile{"17-0": raw(0x23, 0x4000, 0, 0)}, "LPDDR5"},
		{map[string]*fstest.MapFile{"17-0": {Data: []byte("short")}}, ""},
		{map[string]*fstest.MapFile{"17-0": raw(0x02, 0x4000, 100, 0)}, ""},
	} {
		root := fstest.MapFS{}
		for name, f := range c.files {
			root["sys/firmware/dmi/entries/"+name+"/raw"] = f
		}
		if got := memoryType(reader{root}); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestBuild(t *testing.T) {
	set := func(kv ...string) (out []debug.BuildSetting) {
		for i := 0; i < len(kv); i += 2 {
			out = append(out, debug.BuildSetting{Key: kv[i], Value: kv[i+1]})
		}
		return out
	}
	for _, c := range []struct {
		info debug.BuildInfo
		want string
	}{
		{debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}}, "v1.2.3"},
		{debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, "(devel)"},
		{debug.BuildInfo{}, "(devel)"},
		{debug.BuildInfo{Settings: set("vcs.revision", "0123456789abcdef", "vcs.modified", "true")}, "(devel) 0123456789ab-dirty"},
		{debug.BuildInfo{Settings: set("vcs.revision", "0123", "vcs.modified", "false")}, "(devel) 0123"},
	} {
		if got := version(&c.info); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	got := versions(&debug.BuildInfo{Deps: []*debug.Module{
		{Path: "github.com/go-zeromq/zmq4", Version: "v0.17.0"},
		{Path: "go.nanomsg.org/mangos/v3", Version: "v3.4.2", Replace: &debug.Module{Path: "../mangos"}},
		{Path: "golang.org/x/sys", Version: "v0.1.0"},
	}})
	want := map[string]string{"github.com/go-zeromq/zmq4": "v0.17.0", "go.nanomsg.org/mangos/v3": "../mangos"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestProbe(t *testing.T) {
	dir := t.TempDir()
	p := Probe(t.Context(), dir)
	if p.TempDir != dir || p.TempError != "" {
		t.Errorf("%+v", p)
	}
	if p.SleepP50Ns <= 0 || p.SleepMaxNs < p.SleepP50Ns {
		t.Errorf("%+v", p)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if runtime.GOOS == "linux" && (len(p.Features) != 5 || p.OpenFiles <= 0 || p.TempFS == "" || p.TempFree <= 0) {
		t.Errorf("%+v", p)
	}
	p = Probe(t.Context(), dir+"/missing")
	if p.TempError == "" || strings.Contains(p.TempError, "\n") {
		t.Errorf("a missing folder: %+v", p)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	if p = Probe(ctx, dir); p.SleepP50Ns != 0 {
		t.Errorf("cancelled: %+v", p)
	}
}
