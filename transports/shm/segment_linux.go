package shm

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"msgbench/transports"
)

// seals keep the segment from shrinking (a SIGBUS for the other side) and from growing.
const seals = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW

// segment is a mapping of the shared memory in this process.
type segment struct {
	base unsafe.Pointer
	size uintptr
	geo  geometry
}

// createSegment makes an anonymous file of the size that g asks for, with all of its pages reserved, and maps it. The
// caller closes the descriptor once the peer has it.
func createSegment(g geometry) (segment, int, error) {
	fd, err := unix.MemfdCreate("msgbench-shm", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return segment{}, -1, fmt.Errorf("shm: memfd_create: %w", err)
	}
	s, err := prepare(fd, g)
	if err != nil {
		unix.Close(fd)
		return segment{}, -1, err
	}
	return s, fd, nil
}

func prepare(fd int, g geometry) (segment, error) {
	size := int64(g.size())
	if err := unix.Ftruncate(fd, size); err != nil {
		return segment{}, fmt.Errorf("shm: reserve %d B: %w", size, err)
	}
	// A sparse file would end in SIGBUS at the first touch when memory runs out; fallocate fails here instead.
	if err := ignoreEINTR(func() error { return unix.Fallocate(fd, 0, 0, size) }); err != nil {
		return segment{}, fmt.Errorf("shm: reserve %d B: %w", size, err)
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals); err != nil {
		return segment{}, fmt.Errorf("shm: seal: %w", err)
	}
	s, err := mapSegment(fd, uintptr(size))
	if err != nil {
		return segment{}, err
	}
	s.geo = g
	g.put(s.header())
	return s, nil
}

// openSegment maps what the peer has sent and checks its header. It does not close fd.
func openSegment(fd int) (segment, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return segment{}, fmt.Errorf("shm: segment: %w", err)
	}
	got, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
	if err != nil || got&seals != seals {
		return segment{}, fmt.Errorf("shm: segment: not sealed against shrinking (seals %#x, %v)", got, err)
	}
	if st.Size < slotsOffset || st.Size > int64((geometry{slots: maxSlots, area: maxArea}).size()) {
		return segment{}, fmt.Errorf("shm: segment of %d B: %w", st.Size, transports.ErrFrame)
	}
	s, err := mapSegment(fd, uintptr(st.Size))
	if err != nil {
		return segment{}, err
	}
	var header [64]byte // a copy: the peer could change the page between the checks
	copy(header[:], s.header())
	if s.geo, err = parseGeometry(header[:], st.Size); err != nil {
		s.unmap()
		return segment{}, err
	}
	return s, nil
}

func mapSegment(fd int, size uintptr) (segment, error) {
	// MAP_POPULATE: page faults belong to connecting, not to the first lap of the ring.
	p, err := unix.MmapPtr(fd, 0, nil, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return segment{}, fmt.Errorf("shm: map %d B: %w", size, err)
	}
	return segment{base: p, size: size}, nil
}

func (s segment) header() []byte { return unsafe.Slice((*byte)(s.base), headerBytes) }

func (s segment) unmap() { _ = unix.MunmapPtr(s.base, s.size) }

// detach puts empty private memory in the place of the segment in one step, so that the segment is gone while a call of
// another goroutine that is still on its way reads zeros (never a valid header word) instead of faulting.
//
// Tried and dropped: marking each call as in progress, so that Close could unmap at once. It costs a locked instruction
// in every Send and Recv, and still leaves the slice that Recv returned pointing nowhere.
func (s segment) detach() error {
	_, err := unix.MmapPtr(-1, 0, s.base, s.size, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_FIXED|unix.MAP_NORESERVE)
	return err
}

func (s segment) u32(off uint64) *uint32 { return (*uint32)(unsafe.Add(s.base, off)) }
func (s segment) u64(off uint64) *uint64 { return (*uint64)(unsafe.Add(s.base, off)) }

func ignoreEINTR(f func() error) error {
	for {
		if err := f(); err != unix.EINTR {
			return err
		}
	}
}
