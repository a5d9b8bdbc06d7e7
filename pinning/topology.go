package pinning

import (
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

// Unknown stands for a core, package or node that the system does not tell.
const Unknown = -1

// CPU is one hardware thread that is online.
type CPU struct {
	ID        int   `json:"id"`
	Siblings  []int `json:"siblings,omitempty"` // threads of its physical core, itself included; empty: not known
	Package   int   `json:"package"`            // socket, or Unknown
	Die       int   `json:"die"`                // within the package, or Unknown
	Cluster   int   `json:"cluster"`            // cores that share a cache below the last level, or Unknown
	Node      int   `json:"node"`               // NUMA node, or Unknown
	Efficient bool  `json:"efficient,omitempty"`
	Isolated  bool  `json:"isolated,omitempty"`  // kept free by isolcpus= or an isolated cpuset
	NohzFull  bool  `json:"nohz_full,omitempty"` // no timer tick while one task runs
}

// core names the physical core: its lowest thread. A CPU of unknown siblings is a core of its own.
func (c CPU) core() int {
	if len(c.Siblings) == 0 {
		return c.ID
	}
	return c.Siblings[0]
}

// Topology is what is known of the CPUs of a machine.
type Topology struct {
	CPUs    []CPU `json:"cpus"`    // online, ascending; in containers perhaps more than are allowed
	Allowed []int `json:"allowed"` // where processes of ours may be put, ascending
	CanPin  bool  `json:"can_pin"` // false: this system offers no affinity, and every process goes unpinned
}

// CPU finds one that is online.
func (t Topology) CPU(id int) (CPU, bool) {
	i, ok := slices.BinarySearchFunc(t.CPUs, id, func(c CPU, id int) int { return c.ID - id })
	if !ok {
		return CPU{}, false
	}
	return t.CPUs[i], true
}

// Cores is the number of physical cores with at least one allowed CPU.
func (t Topology) Cores() int { return len(t.cores(t.allowed())) }

// allowed is the allowed CPUs with what is known of each.
func (t Topology) allowed() []CPU {
	out := make([]CPU, 0, len(t.Allowed))
	for _, id := range t.Allowed {
		c, ok := t.CPU(id)
		if !ok {
			c = CPU{ID: id, Package: Unknown, Die: Unknown, Cluster: Unknown, Node: Unknown}
		}
		out = append(out, c)
	}
	return out
}

// withIsolated adds isolated CPUs to the allowed ones where they can be had. The kernel starts everything on the other
// CPUs, but lets a process that asks have them. If the mask is anything else than exactly those others, someone chose
// it (taskset, a cpuset), and that is obeyed.
func withIsolated(t Topology, can func(cpus []int) []int) []int {
	var isolated, others []int
	for _, c := range t.CPUs {
		if c.Isolated {
			isolated = append(isolated, c.ID)
		} else {
			others = append(others, c.ID)
		}
	}
	if len(isolated) == 0 || !slices.Equal(t.Allowed, others) {
		return t.Allowed
	}
	return slices.Sorted(slices.Values(append(can(isolated), others...)))
}

// ReadTopology reads sysfs below root (os.DirFS("/") on a real machine). All of it is optional: virtual machines and
// containers hide any part, and what is hidden is Unknown. The mask is the affinity of this process.
func ReadTopology(root fs.FS, mask []int) Topology {
	r := reader{root}
	online := r.list("sys/devices/system/cpu/online")
	if len(online) == 0 {
		online = mask
	}
	isolated := r.list("sys/devices/system/cpu/isolated")
	nohz := r.list("sys/devices/system/cpu/nohz_full")
	small := r.small(online)
	nodes := r.nodes()
	t := Topology{Allowed: slices.Clone(mask), CanPin: true}
	for _, id := range online {
		dir := "sys/devices/system/cpu/cpu" + strconv.Itoa(id) + "/topology/"
		node, ok := nodes[id]
		if !ok {
			node = Unknown
		}
		siblings := r.list(dir + "core_cpus_list")
		if len(siblings) == 0 {
			siblings = r.list(dir + "thread_siblings_list") // its name before Linux 5.2
		}
		if !slices.Contains(siblings, id) {
			siblings = nil
		}
		t.CPUs = append(t.CPUs, CPU{
			ID:        id,
			Siblings:  siblings,
			Package:   r.number(dir + "physical_package_id"),
			Die:       r.number(dir + "die_id"),
			Cluster:   r.number(dir + "cluster_id"),
			Node:      node,
			Efficient: small[id],
			Isolated:  slices.Contains(isolated, id),
			NohzFull:  slices.Contains(nohz, id),
		})
	}
	return t
}

// reader reads the small files of sysfs; what is missing or odd reads as nothing.
type reader struct{ root fs.FS }

func (r reader) text(name string) string {
	data, err := fs.ReadFile(r.root, name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

func (r reader) list(name string) []int {
	cpus, err := ParseList(r.text(name)) // nohz_full reads "(null)" where there are none
	if err != nil {
		return nil
	}
	return cpus
}

// number is a count from 0 up; the kernel writes -1 (or 65535 for clusters) for what it does not know.
func (r reader) number(name string) int {
	n, err := strconv.Atoi(r.text(name))
	if err != nil || n < 0 || n == 65535 {
		return Unknown
	}
	return n
}

// nodes maps CPUs to NUMA nodes.
func (r reader) nodes() map[int]int {
	of := map[int]int{}
	dirs, _ := fs.Glob(r.root, "sys/devices/system/node/node[0-9]*")
	for _, dir := range dirs {
		n, err := strconv.Atoi(dir[strings.LastIndex(dir, "node")+len("node"):])
		if err != nil {
			continue
		}
		for _, c := range r.list(dir + "/cpulist") {
			of[c] = n
		}
	}
	return of
}

// small tells the efficiency cores: by name on hybrid Intel, elsewhere by a capacity well below the largest (cores that
// merely boost less differ by a few per cent).
func (r reader) small(online []int) map[int]bool {
	small := map[int]bool{}
	for _, c := range r.list("sys/devices/cpu_atom/cpus") {
		small[c] = true
	}
	if len(small) > 0 {
		return small
	}
	capacity := map[int]int{}
	largest := 0
	for _, id := range online {
		capacity[id] = r.number("sys/devices/system/cpu/cpu" + strconv.Itoa(id) + "/cpu_capacity")
		largest = max(largest, capacity[id])
	}
	for id, c := range capacity {
		small[id] = c != Unknown && c*4 < largest*3
	}
	return small
}
