package cli

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// link is two network namespaces with a network between them that delays each packet and loses some.
type link struct {
	a, b    string // names of the namespaces
	addrB   string // of the host b
	how     string // what makes the delay
	dropped func() int64
}

// lack skips a test, loudly; where scripts/test wants all tests, it fails, unless the script has said itself that this machine
// can't do it.
func lack(t *testing.T, format string, args ...any) {
	t.Helper()
	if os.Getenv("MSGBENCH_NEED_PEERS") != "" && os.Getenv("MSGBENCH_NO_HOSTS") == "" {
		t.Fatalf("can't be tested here: "+format, args...)
	}
	t.Skipf("NOT TESTED: "+format, args...)
}

// newLink makes a link, by tc netem where the kernel has it. Where it has not, two TUN devices are the ends of the network,
// and this process is what lies between.
func newLink(t *testing.T, delay time.Duration, loss float64) *link {
	t.Helper()
	if os.Geteuid() != 0 {
		lack(t, "network namespaces need root")
	}
	for _, program := range []string{"ip", "tc"} {
		if _, err := exec.LookPath(program); err != nil {
			lack(t, "no program %s (iproute2)", program)
		}
	}
	l := &link{a: fmt.Sprintf("mba%d", os.Getpid()), b: fmt.Sprintf("mbb%d", os.Getpid()), addrB: "10.213.0.2"}
	for _, ns := range []string{l.a, l.b} {
		if out, err := exec.Command("ip", "netns", "add", ns).CombinedOutput(); err != nil {
			lack(t, "ip netns add: %v: %s", err, out)
		}
		t.Cleanup(func() {
			if out, err := exec.Command("ip", "netns", "del", ns).CombinedOutput(); err != nil {
				t.Errorf("ip netns del %s: %v: %s", ns, err, out)
			}
		})
		ip(t, "-n", ns, "link", "set", "lo", "up")
	}
	ip(t, "-n", l.a, "link", "add", "veth0", "type", "veth", "peer", "name", "veth0", "netns", l.b)
	netem := []string{"qdisc", "add", "dev", "veth0", "root", "netem", "delay", fmt.Sprintf("%dus", delay.Microseconds()), "loss", fmt.Sprintf("%g%%", 100*loss)}
	device := "veth0"
	out, err := exec.Command("tc", append([]string{"-n", l.a}, netem...)...).CombinedOutput()
	switch {
	case err == nil:
		l.how = "tc netem"
		if out, err := exec.Command("tc", append([]string{"-n", l.b}, netem...)...).CombinedOutput(); err != nil {
			t.Fatalf("tc: %v: %s", err, out)
		}
		l.dropped = func() int64 { return tcDropped(t, l.a) + tcDropped(t, l.b) }
	case !noNetem(string(out)):
		t.Fatalf("tc: %v: %s", err, out) // it is there, and asked for wrongly
	default:
		l.how = fmt.Sprintf("TUN devices, since this kernel has no netem (%s)", strings.Join(strings.Fields(string(out)), " "))
		device = "tun0"
		l.relay(t, delay, loss)
	}
	t.Logf("delay %s and loss %g %% each way by %s", delay, 100*loss, l.how)
	for ns, addr := range map[string]string{l.a: "10.213.0.1", l.b: l.addrB} {
		ip(t, "-n", ns, "addr", "add", addr+"/24", "dev", device)
		ip(t, "-n", ns, "link", "set", device, "up")
	}
	return l
}

func ip(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		t.Fatalf("ip %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

// noNetem tells whether tc says that the kernel has no netem, in the words of newer and of older kernels.
func noNetem(said string) bool {
	return strings.Contains(said, "qdisc kind is unknown") || strings.Contains(said, "RTNETLINK answers: No such file or directory")
}

// tcDropped is how many packets the discipline of a namespace has dropped.
func tcDropped(t *testing.T, ns string) int64 {
	t.Helper()
	out, err := exec.Command("tc", "-n", ns, "-s", "qdisc", "show", "dev", "veth0").CombinedOutput()
	if err != nil {
		t.Fatalf("tc -s: %v: %s", err, out)
	}
	n, err := droppedOf(string(out))
	if err != nil {
		t.Fatalf("tc -s: no number of dropped packets in %q", out)
	}
	return n
}

// droppedOf is the number in "Sent 5880 bytes 60 pkt (dropped 3, overlimits 0 requeues 0)".
func droppedOf(said string) (n int64, err error) {
	_, rest, _ := strings.Cut(said, "(dropped ")
	_, err = fmt.Sscanf(rest, "%d", &n)
	return n, err
}

// TestNetemWords: what tc says where netem is, and where it is not. The words are those of iproute2 and the kernel.
func TestNetemWords(t *testing.T) {
	const said = "qdisc netem 8001: root refcnt 3 limit 1000 delay 1ms loss 5%\n Sent 5880 bytes 60 pkt (dropped 3, overlimits 0 requeues 0)\n backlog 0b 0p requeues 0\n"
	if n, err := droppedOf(said); n != 3 || err != nil {
		t.Errorf("%d packets, %v", n, err)
	}
	if n, err := droppedOf(""); err == nil {
		t.Errorf("%d packets of nothing", n)
	}
	for said, want := range map[string]bool{
		"Error: Specified qdisc kind is unknown.\n":                    true,
		"RTNETLINK answers: No such file or directory\n":               true,
		"Cannot find device \"veth0\"\n":                               false,
		"What is \"dealy\"?\nUsage: ... netem [ limit PACKETS ]\n":     false,
		"RTNETLINK answers: Operation not permitted\n":                 false,
		"Error: Exclusivity flag on, cannot modify.\n":                 false,
		"setting the network namespace \"x\" failed: Invalid argument": false,
	} {
		if noNetem(said) != want {
			t.Errorf("%q: netem is taken to be there: %v", said, want)
		}
	}
}

// packet is one that is under way.
type packet struct {
	due  time.Time
	data []byte
}

// relay carries packets between the two namespaces.
func (l *link) relay(t *testing.T, delay time.Duration, loss float64) {
	t.Helper()
	var ends [2]*os.File
	for i, ns := range []string{l.a, l.b} {
		f, err := tun(ns)
		if err != nil {
			lack(t, "TUN device in a namespace: %v", err)
		}
		t.Cleanup(func() { f.Close() })
		ends[i] = f
	}
	var dropped atomic.Int64
	l.dropped = dropped.Load
	for i := range ends {
		from, to := ends[i], ends[1-i]
		queue := make(chan packet, 4096)
		chance := rand.New(rand.NewPCG(1, uint64(i)))
		go func() {
			defer close(queue)
			for buf := make([]byte, 65536); ; {
				n, err := from.Read(buf)
				if err != nil {
					return // closed
				}
				if chance.Float64() < loss {
					dropped.Add(1)
					continue
				}
				queue <- packet{time.Now().Add(delay), append([]byte{}, buf[:n]...)}
			}
		}()
		go func() {
			for p := range queue {
				time.Sleep(time.Until(p.due))
				to.Write(p.data) // a device that is down loses it, as a network would
			}
		}()
	}
}

// tun makes tun0 in a namespace.
func tun(ns string) (f *os.File, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // not unlocked: the thread ends with its odd namespace
		var fd int
		if fd, err = unix.Open("/run/netns/"+ns, unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
			return
		}
		defer unix.Close(fd)
		if err = unix.Setns(fd, unix.CLONE_NEWNET); err != nil {
			return
		}
		if fd, err = unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0); err != nil {
			return
		}
		var req *unix.Ifreq
		if req, err = unix.NewIfreq("tun0"); err == nil {
			req.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
			err = unix.IoctlIfreq(fd, unix.TUNSETIFF, req)
		}
		if err != nil {
			unix.Close(fd)
			return
		}
		f = os.NewFile(uintptr(fd), "tun0")
	}()
	<-done
	return f, err
}
