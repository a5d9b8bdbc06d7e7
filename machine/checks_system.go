package machine

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"msgbench/pinning"
)

// foreignChecks are about others that use the machine, and about limits that it has from them.
func foreignChecks(e Environment, roles int) []Check {
	steal := Check{
		Name: "steal", Status: OK,
		Effect: "the hypervisor ran other machines on these CPUs; latencies then have gaps of milliseconds, and samples differ",
		Fix:    "use dedicated CPUs or bare metal, or measure when the host is quiet",
	}
	if e.Steal == nil {
		steal.Status = Unknown
	} else {
		steal.Found = percent(*e.Steal) + " of the CPUs' time"
		switch {
		case *e.Steal > 0.05:
			steal.Status = Bad
		case *e.Steal > 0.005:
			steal.Status = Warn
		}
	}
	load := Check{
		Name: "load", Status: OK,
		Effect: "other processes take time on the cells' cores; with spinning transports one busy process halves a figure",
		Fix:    "end what else runs (see top); stop package updates and indexing",
	}
	var found []string
	if e.Busy != nil {
		found = append(found, percent(*e.Busy)+" of the allowed CPUs in use")
	}
	if len(e.Load) == 3 {
		found = append(found, fmt.Sprintf("load average %.2f", e.Load[0]))
	}
	load.Found = strings.Join(found, "; ")
	switch {
	case len(found) == 0:
		load.Status = Unknown
	// The average lags by a minute, so what was seen just now goes before it.
	case e.Busy != nil && *e.Busy > 0.25, e.Busy == nil && e.Load[0] > float64(max(e.CPU.Threads, 1)):
		load.Status = Bad
	case e.Busy != nil && *e.Busy > 0.05, e.Busy == nil && e.Load[0] > 0.5:
		load.Status = Warn
	}
	free := Check{
		Name: "free cores", Status: OK,
		Effect: fmt.Sprintf("up to %d processes of a cell want a CPU that nobody else uses; on the others they wait for their turn", roles),
		Fix:    "end what else runs, or name free ones: --pin client=A,server=B",
	}
	if e.Free == nil {
		free.Status = Unknown
	} else {
		n, _ := pinning.ParseList(strings.TrimPrefix(*e.Free, "none"))
		free.Found = fmt.Sprintf("%d of %d (CPU %s)", len(n), e.CPU.AllowedThreads, *e.Free)
		switch {
		case len(n) == 0:
			free.Status = Bad
		case len(n) < roles:
			free.Status = Warn
		}
	}
	quota := Check{
		Name: "cgroup quota", Status: OK, Found: "none",
		Effect: "a process that has used up its quota is stopped until the next period, up to 100 ms",
		Fix:    "start the container without a CPU limit (docker: no --cpus; Kubernetes: no limits.cpu), or as a cpuset",
	}
	if e.CPUQuota > 0 {
		quota.Found = fmt.Sprintf("%.3g CPUs", e.CPUQuota)
		switch need := float64(min(roles, max(e.CPU.AllowedThreads, 1))); {
		case e.CPUQuota < need:
			quota.Status = Bad
		case e.CPUQuota < need+1: // the Go runtime's collector and the runner need some too
			quota.Status = Warn
		}
	} else if e.OS != "linux" {
		quota.Status, quota.Found = Unknown, ""
	}
	virtual := Check{
		Name: "virtualization", Status: OK, Found: joined(e.Hypervisor, e.Container),
		Effect: "wake-ups and interrupts between virtual CPUs cost several µs more, and placement on real cores is the host's affair",
		Fix:    "measure on bare metal for figures that are to be compared with other machines",
	}
	switch {
	case e.Hypervisor == "":
		virtual.Status = Unknown
	case e.Hypervisor != "none":
		virtual.Status = Warn
	}
	session := Check{
		Name: "session", Status: OK, Found: joined(e.Session, e.Desktop),
		Effect: "a desktop draws and wakes up on the cells' cores",
		Fix:    "run from a text console (Ctrl-Alt-F3) or over ssh, with the desktop logged out",
	}
	switch {
	case e.Session == "":
		session.Status = Unknown
	case e.Session == "wayland" || e.Session == "x11" || e.Session == "mir":
		session.Status = Warn
	}
	return []Check{fixed(steal), fixed(load), fixed(free), fixed(memoryCheck(e.Memory)), fixed(quota), fixed(virtual), fixed(session)}
}

func memoryCheck(m Memory) Check {
	c := Check{
		Name: "free memory", Status: OK,
		Effect: "what does not fit is swapped out, or a process is killed and its sample fails",
		Fix:    "end what uses memory, or raise the container's limit",
	}
	free := m.Available
	if m.Limit > 0 && (free == 0 || m.Limit < free) {
		free = m.Limit
	}
	if free == 0 {
		c.Status = Unknown
		return c
	}
	c.Found = size(free)
	switch {
	case free < 256<<20:
		c.Status = Bad
	case free < 1<<30:
		c.Status = Warn
	}
	return c
}

// kernelChecks are about settings of the kernel.
func kernelChecks(e Environment) []Check {
	pages := Check{
		Name: "transparent huge pages", Status: OK, Found: e.HugePages,
		Effect: "with always, the kernel merges pages while a process runs, which shows as rare gaps and as differences in memory use",
		Fix:    "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled",
	}
	switch e.HugePages {
	case "":
		pages.Status = Unknown
	case "always":
		pages.Status = Warn
	}
	huge := Check{
		Name: "huge pages", Status: OK, Found: joined(prefixed("shared memory: ", e.ShmemPages), "none reserved"),
		Effect: "what is reserved for them is lost to all else; with always for shared memory the rings of shm get them, and of no other transport",
		Fix:    "sudo sysctl vm.nr_hugepages=0; echo never | sudo tee /sys/kernel/mm/transparent_hugepage/shmem_enabled",
	}
	if e.ReservedHuge > 0 {
		huge.Found = joined(prefixed("shared memory: ", e.ShmemPages), size(e.ReservedHuge)+" reserved")
	}
	switch {
	case e.HugePages == "" && e.ShmemPages == "" && e.ReservedHuge == 0:
		huge.Status, huge.Found = Unknown, ""
	case e.ShmemPages == "always" || e.ShmemPages == "force" || e.ReservedHuge > e.Memory.Total/2 && e.Memory.Total > 0:
		huge.Status = Warn
	}
	mitigations := Check{
		Name: "kernel mitigations", Status: OK, Found: "none active",
		Effect: "they make each system call and switch dearer, so pipe, uds and tcp lose more than shm does",
		Fix:    "compare with machines of the same mitigations only; mitigations=off is for machines that run nothing else",
	}
	switch {
	case e.OS != "linux":
		mitigations.Status, mitigations.Found = Unknown, ""
	case len(e.Mitigations) > 0:
		mitigations.Status = Warn
		mitigations.Found = strings.Join(e.Mitigations, ", ")
	}
	mtu := Check{
		Name: "loopback MTU", Status: OK,
		Effect: "large messages over tcp are cut into more segments",
		Fix:    "sudo ip link set lo mtu 65536",
	}
	if e.LoopbackMTU == 0 {
		mtu.Status = Unknown
	} else {
		mtu.Found = fmt.Sprintf("%d B", e.LoopbackMTU)
		if e.OS == "linux" && e.LoopbackMTU < 65536 {
			mtu.Status = Warn
		}
	}
	return []Check{fixed(pages), fixed(huge), fixed(mitigations), fixed(mtu)}
}

// Room that a run needs.
const (
	socketPath = 104 // bytes of a socket's path on the strictest system (macOS; Linux has 108), with its final NUL
	below      = 48  // of these that the run's own folders and names take
	roomTemp   = 64 << 20
	roomShm    = 64 << 20
	files      = 256
)

// placeChecks are about files, and about what the kernel offers to transports.
func placeChecks(e Environment, p Probes) []Check {
	temp := Check{
		Name: "temporary folder", Status: OK, Found: joined(p.TempDir, p.TempFS),
		Effect: "FIFOs and sockets are made there: it must be writable and local, and its path short",
		Fix:    "TMPDIR=/tmp msgbench …",
	}
	switch {
	case p.TempError != "":
		temp.Status, temp.Found = Bad, p.TempError
	case len(p.TempDir) > socketPath-below:
		temp.Status = Bad
		temp.Found = fmt.Sprintf("%s: a path of %d bytes, at most %d leave room for sockets", p.TempDir, len(p.TempDir), socketPath-below)
	case slices.Contains([]string{"nfs", "cifs", "fuse", "9p", "ceph"}, p.TempFS):
		temp.Status = Warn
	case p.TempFree > 0 && p.TempFree < roomTemp:
		temp.Status, temp.Found = Warn, temp.Found+", "+size(p.TempFree)+" free"
	case p.TempDir == "":
		temp.Status = Unknown
	}
	shm := Check{
		Name: "/dev/shm", Status: OK,
		Effect: "libraries of other peers keep their shared memory there (msgbench's own shm needs none of it)",
		Fix:    "sudo mount -o remount,size=1G /dev/shm (docker: --shm-size=1g)",
	}
	switch {
	case e.OS != "linux":
		shm.Status, shm.Found = Unknown, "not on this system"
	case p.ShmFree == nil:
		shm.Status, shm.Found = Warn, "missing"
	default:
		shm.Found = size(*p.ShmFree) + " free"
		if *p.ShmFree < roomShm {
			shm.Status = Warn
		}
	}
	open := Check{
		Name: "open files", Status: OK, Found: fmt.Sprintf("up to %d", p.OpenFiles),
		Effect: "cells with many subscribers or connections need a descriptor for each",
		Fix:    "ulimit -n 4096",
	}
	switch {
	case p.OpenFiles == 0:
		open.Status, open.Found = Unknown, ""
	case p.OpenFiles < files:
		open.Status = Bad
	case p.OpenFiles < 4*files:
		open.Status = Warn
	}
	return []Check{fixed(temp), fixed(shm), fixed(open), fixed(featureCheck(p.Features))}
}

// featureCheck is about the system calls that transports are built on.
func featureCheck(features map[string]string) Check {
	c := Check{
		Name: "kernel features", Status: OK,
		Effect: "a transport whose system call is missing is skipped: pipe needs fifo, shm memfd, uds seqpacket, zmq-ipc and nng-ipc socket files",
		Fix:    "run outside of the sandbox (seccomp, gVisor, network file system) that forbids it",
	}
	var there, missing []string
	for _, name := range slices.Sorted(maps.Keys(features)) {
		if why := features[name]; why == "" {
			there = append(there, name)
		} else {
			missing = append(missing, name+": "+why)
		}
	}
	switch {
	case len(features) == 0:
		c.Status = Unknown
	case len(missing) > 0:
		c.Status, c.Found = Bad, strings.Join(missing, "; ")
	default:
		c.Found = strings.Join(there, ", ")
	}
	return c
}

// prefixed puts a word before a text that is there.
func prefixed(word, s string) string {
	if s == "" {
		return ""
	}
	return word + s
}

func percent(share float64) string { return fmt.Sprintf("%.3g %%", share*100) }
