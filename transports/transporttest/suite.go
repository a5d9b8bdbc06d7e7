// Package transporttest is the one conformance suite of the transports: what package transports promises, tried out on
// an adapter. Each adapter runs it in a test of a few lines:
//
//	func TestConformance(t *testing.T) { transporttest.Run(t, pipe.New(), transporttest.NoAllocs) }
//
// Run starts the test binary again as the peer process that dies, so the test function must call it before it does
// anything else.
package transporttest

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"msgbench/transports"
)

// Option asks for a check that not every transport can pass.
type Option int

// NoAllocs demands that Send and Recv allocate nothing once a connection is warm.
const NoAllocs Option = 1

// suite is one run: the adapter under test and what is demanded of it.
type suite struct {
	tr   transports.Transport
	info transports.Info
	wait transports.Wait
	opts []Option
}

// Run checks the transport with each of its wait strategies. It skips only when the transport's own Probe says that it
// can't run on this machine.
func Run(t *testing.T, tr transports.Transport, opts ...Option) {
	if os.Getenv(childEnv) != "" {
		runChild(tr)
	}
	if p, ok := tr.(transports.Prober); ok {
		if err := p.Probe(); err != nil {
			t.Skipf("%s can't run here: %v", tr.Info().Name, err)
		}
	}
	// Two sides that spin would otherwise keep the test's own goroutine from a processor for 10 ms at a time.
	if n := runtime.GOMAXPROCS(0); n < 4 {
		runtime.GOMAXPROCS(4)
		defer runtime.GOMAXPROCS(n)
	}
	info := tr.Info()
	checkInfo(t, info)
	checkOptions(t, tr)
	for _, w := range info.Waits {
		s := &suite{tr: tr, info: info, wait: w, opts: opts}
		t.Run("wait="+string(w), func(t *testing.T) {
			for _, c := range []struct {
				name string
				f    func(*testing.T)
			}{
				{"sizes", s.testSizes},
				{"order", s.testOrder},
				{"slow-receiver", s.testSlowReceiver},
				{"received-slice", s.testReceivedSlice},
				{"in-flight", s.testInFlight},
				{"duplex", s.testDuplex},
				{"idle", s.testIdle},
				{"too-large", s.testTooLarge},
				{"two-at-once", s.testTwoAtOnce},
				{"facts", s.testFacts},
				{"close-accept", s.testCloseAccept},
				{"close-recv", s.testCloseRecv},
				{"close-send", s.testCloseSend},
				{"close-twice", s.testCloseTwice},
				{"peer-closes", s.testPeerCloses},
				{"peer-process", s.testPeerProcess},
				{"peer-dies", s.testPeerDies},
				{"nothing-left", s.testNothingLeft},
				{"broadcast", s.testBroadcast},
				{"allocations", s.testAllocs},
			} {
				if c.name == "allocations" && !slices.Contains(opts, NoAllocs) {
					continue
				}
				if _, ok := tr.(transports.Broadcaster); c.name == "broadcast" && !ok {
					continue
				}
				t.Run(c.name, c.f)
				if t.Failed() {
					return // the steps build on each other: what follows would only repeat the failure, slowly
				}
			}
		})
	}
}

func checkInfo(t *testing.T, info transports.Info) {
	t.Helper()
	if info.Name == "" || info.Summary == "" {
		t.Errorf("Info has no name or no summary: %+v", info)
	}
	if strings.ContainsAny(info.Name, " /,*") {
		t.Errorf("Info.Name %q can't stand in a cell key", info.Name)
	}
	if len(info.Waits) == 0 {
		t.Fatalf("Info.Waits is empty: name at least the strategy the transport has")
	}
	if info.MaxMessage < transports.DefaultMaxMessage {
		t.Fatalf("Info.MaxMessage = %d, less than the default of Options", info.MaxMessage)
	}
}

// checkOptions offers options that no adapter may accept.
func checkOptions(t *testing.T, tr transports.Transport) {
	t.Helper()
	dir := shortDir(t)
	for _, o := range []transports.Options{
		{Dir: dir, Wait: "no-such-wait"},
		{Dir: dir, MaxMessage: -1},
		{Dir: dir, MaxMessage: tr.Info().MaxMessage + 1},
	} {
		if l, err := tr.Listen(o); err == nil {
			l.Close()
			t.Errorf("Listen(%+v) gave no error", o)
		}
		if c, err := tr.Dial("", o); err == nil {
			c.Close()
			t.Errorf("Dial with %+v gave no error", o)
		}
	}
	if names := leftIn(dir); len(names) != 0 {
		t.Errorf("a refused Listen left %q", names)
	}
}

// options are the options of a test: a folder of its own, the wait strategy under test.
func (s *suite) options(t *testing.T, p transports.Pattern) transports.Options {
	t.Helper()
	return transports.Options{Dir: shortDir(t), Wait: s.wait, Pattern: p, MaxMessage: s.largest(), Depth: 16}
}

// largest is the size of the largest message the suite sends.
func (s *suite) largest() int { return min(4<<20, s.info.MaxMessage) }

// sizes are the message sizes each transport must carry, bounded by what it says it can.
func (s *suite) sizes() []int {
	sizes := []int{0, 1, 40, 96, 4 << 10, 64 << 10, 1 << 20, 4 << 20}
	for i := range sizes {
		sizes[i] = min(sizes[i], s.largest())
	}
	return slices.Compact(sizes)
}

// count shrinks n where each message may cost a time slice: two spinning sides on one contended core.
func (s *suite) count(n int) int {
	if s.wait == transports.Spin {
		return n / 8
	}
	return n
}

// shortDir is a private folder with a short path: t.TempDir's are longer than a Unix socket's address may be.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "tt")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// leftIn names what is in a folder.
func leftIn(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return []string{fmt.Sprint(err)}
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
