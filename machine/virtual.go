package machine

import (
	"math"
	"os"
	"path"
	"strconv"
	"strings"
)

// hypervisor names what this machine runs on: "none" on bare metal, empty where nothing tells.
func hypervisor(r reader) string {
	if strings.Contains(strings.ToLower(r.text("proc/sys/kernel/osrelease")), "microsoft") {
		return "wsl"
	}
	if v := r.text("sys/hypervisor/type"); v != "" {
		return v
	}
	vendor := strings.ToLower(r.text("sys/class/dmi/id/sys_vendor"))
	product := strings.ToLower(r.text("sys/class/dmi/id/product_name"))
	flags := field(r.text("proc/cpuinfo"), "flags", ":")
	virtual := strings.Contains(" "+flags+" ", " hypervisor ")
	for _, known := range []struct{ sign, name string }{
		{"vmware", "vmware"}, {"virtualbox", "virtualbox"}, {"innotek", "virtualbox"}, {"parallels", "parallels"},
		{"bhyve", "bhyve"}, {"apple virtualization", "apple"}, {"qemu", "qemu"}, {"kvm", "kvm"}, {"openstack", "openstack"},
		{"xen", "xen"},
	} {
		if strings.Contains(vendor, known.sign) || strings.Contains(product, known.sign) {
			return known.name
		}
	}
	if strings.Contains(vendor, "microsoft") && strings.Contains(product, "virtual machine") {
		return "hyper-v"
	}
	if virtual {
		// Clouds put their name here, on bare metal machines too, so the CPU's flag decides.
		for _, cloud := range []string{"amazon", "google", "digitalocean", "alibaba", "oracle", "hetzner"} {
			if strings.Contains(vendor, cloud) {
				return cloud
			}
		}
		clocks := r.text("sys/devices/system/clocksource/clocksource0/available_clocksource")
		switch {
		case strings.Contains(clocks, "kvm-clock"):
			return "kvm"
		case strings.Contains(clocks, "hyperv"):
			return "hyper-v"
		}
		return "unknown hypervisor"
	}
	if r.exists("proc/device-tree/hypervisor/compatible") {
		return "unknown hypervisor"
	}
	if flags != "" {
		return "none"
	}
	return ""
}

// container names the kind of container, empty outside of one.
func container(r reader, getenv func(string) string) string {
	if getenv("KUBERNETES_SERVICE_HOST") != "" {
		return "kubernetes"
	}
	if v := r.text("run/systemd/container"); v != "" {
		return v
	}
	groups := r.text("proc/1/cgroup") + "\n" + r.text("proc/self/cgroup")
	for _, known := range []struct{ sign, name string }{
		{"kubepods", "kubernetes"}, {"/docker", "docker"}, {"libpod", "podman"}, {"/lxc", "lxc"}, {"containerd", "containerd"},
	} {
		if strings.Contains(groups, known.sign) {
			return known.name
		}
	}
	switch {
	case bare(r): // a virtual machine whose disk was made from a container's image keeps the image's marks
	case r.exists(".dockerenv"):
		return "docker"
	case r.exists("run/.containerenv"):
		return "podman"
	}
	return getenv("container")
}

// bare tells that this is the first PID namespace of the kernel, whose threads it shows, on a root that is no overlay.
func bare(r reader) bool {
	return r.text("proc/2/comm") == "kthreadd" && rootFS(r) != "" && rootFS(r) != "overlay"
}

// rootFS is the type of the file system of the root folder.
func rootFS(r reader) (kind string) {
	for line := range strings.Lines(r.text("proc/self/mountinfo")) {
		own, source, ok := strings.Cut(line, " - ")
		if f, s := strings.Fields(own), strings.Fields(source); ok && len(f) > 4 && len(s) > 0 && f[4] == "/" {
			kind = s[0] // a later one is mounted over an earlier one
		}
	}
	return kind
}

// CPUQuota is the CPUs' worth of time that the strictest cgroup above this process grants; 0 where none limits it.
func CPUQuota() float64 { return cpuQuota(reader{os.DirFS("/")}) }

// cpuQuota is the CPUs' worth of time that the strictest cgroup above this process grants; 0 where none limits it.
func cpuQuota(r reader) float64 {
	least := math.Inf(1)
	eachGroup(r, "cpu", func(dir string, v2 bool) {
		var quota, period string
		if v2 {
			quota, period, _ = strings.Cut(r.text(dir+"/cpu.max"), " ")
		} else {
			quota, period = r.text(dir+"/cpu.cfs_quota_us"), r.text(dir+"/cpu.cfs_period_us")
		}
		q, err := strconv.ParseFloat(quota, 64) // "max" and -1 mean no limit
		p, perr := strconv.ParseFloat(period, 64)
		if err == nil && perr == nil && q > 0 && p > 0 {
			least = min(least, q/p)
		}
	})
	if math.IsInf(least, 1) {
		return 0
	}
	return least
}

// memoryLimit is the least limit of the cgroups above this process in bytes; 0 where none limits it.
func memoryLimit(r reader) int64 {
	least := int64(math.MaxInt64)
	eachGroup(r, "memory", func(dir string, v2 bool) {
		name := "/memory.limit_in_bytes"
		if v2 {
			name = "/memory.max"
		}
		if n, ok := r.number(dir + name); ok && n > 0 {
			least = min(least, n)
		}
	})
	if least > 1<<60 { // version 1 says "no limit" with a huge number
		return 0
	}
	return least
}

// eachGroup calls f with the folder of this process's cgroup and of each one above it, for the version 2 hierarchy and for
// the version 1 hierarchy of a controller. Inside a container the path may be that of the host, and only the top exists.
func eachGroup(r reader, controller string, f func(dir string, v2 bool)) {
	for line := range strings.Lines(r.text("proc/self/cgroup")) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		v2 := parts[0] == "0" && parts[1] == ""
		tops := []string{"sys/fs/cgroup/" + parts[1]}
		switch {
		case v2:
			tops = []string{"sys/fs/cgroup", "sys/fs/cgroup/unified"}
		case !strings.Contains(","+parts[1]+",", ","+controller+","):
			continue
		case parts[1] != controller:
			tops = append(tops, "sys/fs/cgroup/"+controller)
		}
		for _, top := range tops {
			for group := path.Clean("/" + parts[2]); ; group = path.Dir(group) {
				f(path.Join(top, group), v2)
				if group == "/" {
					break
				}
			}
		}
	}
}
