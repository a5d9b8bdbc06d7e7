package worker

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"msgbench/bench/protocol"
	"msgbench/measure"
	"msgbench/results"
)

// A calibration is two round trips between two processes that no transport has a part in, so that they are the same in every
// msgbench: a number goes to the other side and back, through two cache lines on which both sides spin, and through two pipes in
// which both block. The server makes the memory and the pipes and says where they are; the client opens them there.

// lastTrip ends a series of round trips.
const lastTrip = ^uint64(0)

// lineGap keeps the two numbers out of one another's cache line, and of the one that the CPU fetches with it.
const lineGap = 256

const (
	lineBatch  = 4       // round trips between two readings of the clock
	maxBatches = 1 << 17 // of both series; more than there is time for
	quartile   = 4

	// Tries until a side lets the other have the CPU that they share. With CPUs of their own they never do: on a busy machine the
	// CPU would go to others, and would be away when the answer comes.
	spinsShared = 64
	spinsAlone  = math.MaxInt
)

// calibrate is this process' side of a calibration.
func (w *worker) calibrate(args protocol.Args) (*results.Calibration, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	spins := spinsAlone
	if args.Dims["cpu"] == "shared" {
		spins = spinsShared
	}
	if args.Role == results.Server {
		return nil, w.answerCalibration(spins)
	}
	return w.askCalibration(args, spins)
}

func (w *worker) answerCalibration(spins int) error {
	memory, err := unix.MemfdCreate("msgbench-calibration", unix.MFD_CLOEXEC)
	if err != nil {
		return fmt.Errorf("memfd_create: %w", err)
	}
	if err := unix.Ftruncate(memory, int64(os.Getpagesize())); err != nil {
		return err
	}
	var there, back [2]int
	for _, p := range []*[2]int{&there, &back} {
		if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
			return fmt.Errorf("pipe: %w", err)
		}
	}
	line, err := mapLines(memory)
	if err != nil {
		return err
	}
	var ready protocol.ReadyInfo
	for _, fd := range []int{memory, there[1], back[0]} {
		ready.Endpoints = append(ready.Endpoints, fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), fd))
	}
	if err := w.say(protocol.Ready, ready); err != nil {
		return err
	}
	if _, err := w.awaitStart(); err != nil {
		return err
	}
	for v := uint64(0); v != lastTrip; {
		v = await(line.there, v, spins)
		atomic.StoreUint64(line.back, v)
	}
	var buf [8]byte
	for {
		if err := transfer(unix.Read, there[0], buf[:]); err != nil {
			return err
		}
		if err := transfer(unix.Write, back[1], buf[:]); err != nil {
			return err
		}
		if binary.NativeEndian.Uint64(buf[:]) == lastTrip {
			return nil
		}
	}
}

func (w *worker) askCalibration(args protocol.Args, spins int) (*results.Calibration, error) {
	if len(args.Endpoints) != 3 {
		return nil, fmt.Errorf("calibration: %d endpoints, want 3", len(args.Endpoints))
	}
	var fds [3]int
	for i, how := range []int{unix.O_RDWR, unix.O_WRONLY, unix.O_RDONLY} {
		fd, err := unix.Open(args.Endpoints[i], how|unix.O_CLOEXEC, 0)
		if err != nil {
			return nil, fmt.Errorf("open %s: %w", args.Endpoints[i], err)
		}
		fds[i] = fd
	}
	line, err := mapLines(fds[0])
	if err != nil {
		return nil, err
	}
	if err := w.say(protocol.Ready, protocol.ReadyInfo{}); err != nil {
		return nil, err
	}
	if _, err := w.awaitStart(); err != nil {
		return nil, err
	}
	// Room for all of it beforehand: nothing is allocated between two round trips.
	times := make([]int64, 0, maxBatches)
	var n uint64
	trip := func() error {
		n++
		atomic.StoreUint64(line.there, n)
		await(line.back, n-1, spins)
		return nil
	}
	c := &results.Calibration{}
	if c.LineNs, c.LineTrips, err = series(args, times, lineBatch, trip); err != nil {
		return nil, err
	}
	atomic.StoreUint64(line.there, lastTrip)
	await(line.back, n, spins)
	var buf [8]byte
	pipe := func(v uint64) error {
		binary.NativeEndian.PutUint64(buf[:], v)
		if err := transfer(unix.Write, fds[1], buf[:]); err != nil {
			return err
		}
		return transfer(unix.Read, fds[2], buf[:])
	}
	if c.PipeNs, c.PipeTrips, err = series(args, times, 1, func() error { return pipe(1) }); err != nil {
		return nil, err
	}
	return c, pipe(lastTrip)
}

// series makes round trips for a warm-up and then for the window, and gives the lower quartile of their times: what the machine
// does, not what others on it leave of it, which is seen by other means. It times batches of so many, since reading the clock
// takes long beside a single one of the shortest.
func series(args protocol.Args, times []int64, batch int, trip func() error) (ns float64, trips int64, err error) {
	for _, d := range []time.Duration{args.Warmup, args.Duration} {
		times = times[:0]
		from := measure.Now()
		for end := from + int64(d); from < end && len(times) < cap(times); {
			for range batch {
				if err := trip(); err != nil {
					return 0, 0, err
				}
			}
			now := measure.Now()
			times = append(times, now-from)
			from = now
		}
	}
	if len(times) == 0 {
		return 0, 0, fmt.Errorf("calibration: no round trip in %s", args.Duration)
	}
	slices.Sort(times)
	return float64(times[len(times)/quartile]) / float64(batch), int64(len(times) * batch), nil
}

// lines are the two numbers in shared memory.
type lines struct{ there, back *uint64 }

func mapLines(fd int) (lines, error) {
	m, err := unix.Mmap(fd, 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return lines{}, fmt.Errorf("mmap: %w", err)
	}
	return lines{(*uint64)(unsafe.Pointer(&m[0])), (*uint64)(unsafe.Pointer(&m[lineGap]))}, nil
}

// await spins until *p is no longer old, and gives what it is. After so many tries it lets the other side have the CPU.
func await(p *uint64, old uint64, spins int) uint64 {
	for {
		for range spins {
			if v := atomic.LoadUint64(p); v != old {
				return v
			}
		}
		unix.Syscall(unix.SYS_SCHED_YIELD, 0, 0, 0) // never fails
	}
}

// transfer reads or writes all of buf; pipes pass so few bytes whole.
func transfer(call func(int, []byte) (int, error), fd int, buf []byte) error {
	for {
		n, err := call(fd, buf)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return fmt.Errorf("calibration: pipe: %w", err)
		case n != len(buf):
			return fmt.Errorf("calibration: pipe: %d of %d bytes: the other side is gone", n, len(buf))
		default:
			return nil
		}
	}
}
