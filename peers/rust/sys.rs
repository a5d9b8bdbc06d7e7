//! The C library, as far as the standard library does not reach: declared by hand, for Linux.
#![allow(non_camel_case_types)]
use std::os::raw::{c_char, c_int, c_long, c_uint, c_void};

#[repr(C)]
#[derive(Clone, Copy)]
pub struct timespec {
    pub sec: i64,
    pub nsec: c_long,
}

#[repr(C)]
pub struct pollfd {
    pub fd: c_int,
    pub events: i16,
    pub revents: i16,
}

#[repr(C)]
pub struct iovec {
    pub base: *const c_void,
    pub len: usize,
}

#[repr(C)]
pub struct msghdr {
    pub name: *mut c_void,
    pub namelen: c_uint,
    pub iov: *mut iovec,
    pub iovlen: usize,
    pub control: *mut c_void,
    pub controllen: usize,
    pub flags: c_int,
}

#[repr(C)]
pub struct sockaddr_un {
    pub family: u16,
    pub path: [u8; 108],
}

/// A control message with one descriptor: cmsghdr, the descriptor, padding.
#[repr(C)]
pub struct rights {
    pub len: usize,
    pub level: c_int,
    pub kind: c_int,
    pub fd: c_int,
    pub pad: c_int,
}

pub const CLOCK_MONOTONIC: c_int = 1;
pub const TIMER_ABSTIME: c_int = 1;
pub const PR_SET_TIMERSLACK: c_int = 29;
pub const POLLIN: i16 = 1;
pub const POLLOUT: i16 = 4;
pub const AF_UNIX: c_int = 1;
pub const SOCK_SEQPACKET: c_int = 5;
pub const SOCK_NONBLOCK: c_int = 0o4000;
pub const SOCK_CLOEXEC: c_int = 0o2000000;
pub const SOL_SOCKET: c_int = 1;
pub const SO_SNDBUF: c_int = 7;
pub const SO_RCVBUF: c_int = 8;
pub const SCM_RIGHTS: c_int = 1;
pub const MSG_DONTWAIT: c_int = 0x40;
pub const MSG_TRUNC: c_int = 0x20;
pub const MSG_WAITALL: c_int = 0x100;
pub const MSG_NOSIGNAL: c_int = 0x4000;
pub const MSG_CMSG_CLOEXEC: c_int = 0x40000000;
pub const SIOCOUTQ: u64 = 0x5411;
pub const O_RDONLY: c_int = 0;
pub const O_WRONLY: c_int = 1;
pub const O_NONBLOCK: c_int = 0o4000;
pub const O_CLOEXEC: c_int = 0o2000000;
pub const F_GETFL: c_int = 3;
pub const F_SETFL: c_int = 4;
pub const F_SETPIPE_SZ: c_int = 1031;
pub const F_GETPIPE_SZ: c_int = 1032;
pub const F_ADD_SEALS: c_int = 1033;
pub const F_GET_SEALS: c_int = 1034;
pub const SEALS: c_int = 2 | 4; // F_SEAL_SHRINK, F_SEAL_GROW
pub const MFD_CLOEXEC: c_uint = 1;
pub const MFD_ALLOW_SEALING: c_uint = 2;
pub const PROT_READ_WRITE: c_int = 1 | 2;
pub const MAP_SHARED: c_int = 1;
pub const FUTEX_WAIT: c_int = 0; // without FUTEX_PRIVATE_FLAG
pub const FUTEX_WAKE: c_int = 1;
pub const SIGPIPE: c_int = 13;
pub const SIGTERM: c_int = 15;
pub const SIG_IGN: usize = 1;

#[cfg(target_arch = "x86_64")]
pub const SYS_FUTEX: c_long = 202;
#[cfg(not(target_arch = "x86_64"))]
pub const SYS_FUTEX: c_long = 98; // of the architectures that came later

pub const MCL_CURRENT: c_int = 1;
pub const MCL_FUTURE: c_int = 2;

extern "C" {
    pub fn clock_gettime(clock: c_int, t: *mut timespec) -> c_int;
    pub fn clock_nanosleep(clock: c_int, flags: c_int, t: *const timespec, left: *mut timespec) -> c_int;
    pub fn clock_getcpuclockid(pid: c_int, clock: *mut c_int) -> c_int;
    pub fn mlockall(flags: c_int) -> c_int;
    pub fn prctl(option: c_int, ...) -> c_int;
    pub fn poll(fds: *mut pollfd, n: u64, ms: c_int) -> c_int;
    pub fn read(fd: c_int, buf: *mut c_void, n: usize) -> isize;
    pub fn write(fd: c_int, buf: *const c_void, n: usize) -> isize;
    pub fn writev(fd: c_int, iov: *const iovec, n: c_int) -> isize;
    pub fn recv(fd: c_int, buf: *mut c_void, n: usize, flags: c_int) -> isize;
    pub fn send(fd: c_int, buf: *const c_void, n: usize, flags: c_int) -> isize;
    pub fn sendmsg(fd: c_int, m: *const msghdr, flags: c_int) -> isize;
    pub fn recvmsg(fd: c_int, m: *mut msghdr, flags: c_int) -> isize;
    pub fn socket(family: c_int, kind: c_int, protocol: c_int) -> c_int;
    pub fn socketpair(family: c_int, kind: c_int, protocol: c_int, fds: *mut c_int) -> c_int;
    pub fn bind(fd: c_int, a: *const sockaddr_un, n: c_uint) -> c_int;
    pub fn connect(fd: c_int, a: *const sockaddr_un, n: c_uint) -> c_int;
    pub fn listen(fd: c_int, backlog: c_int) -> c_int;
    pub fn accept4(fd: c_int, a: *mut c_void, n: *mut c_uint, flags: c_int) -> c_int;
    pub fn getsockopt(fd: c_int, level: c_int, option: c_int, v: *mut c_void, n: *mut c_uint) -> c_int;
    pub fn setsockopt(fd: c_int, level: c_int, option: c_int, v: *const c_void, n: c_uint) -> c_int;
    pub fn ioctl(fd: c_int, request: u64, ...) -> c_int;
    pub fn fcntl(fd: c_int, command: c_int, ...) -> c_int;
    pub fn open(path: *const c_char, flags: c_int, ...) -> c_int;
    pub fn mkfifo(path: *const c_char, mode: c_uint) -> c_int;
    pub fn memfd_create(name: *const c_char, flags: c_uint) -> c_int;
    pub fn ftruncate(fd: c_int, n: i64) -> c_int;
    pub fn fallocate(fd: c_int, mode: c_int, offset: i64, n: i64) -> c_int;
    pub fn pread(fd: c_int, buf: *mut c_void, n: usize, offset: i64) -> isize;
    pub fn lseek(fd: c_int, offset: i64, whence: c_int) -> i64;
    pub fn mmap(at: *mut c_void, n: usize, prot: c_int, flags: c_int, fd: c_int, offset: i64) -> *mut c_void;
    pub fn syscall(number: c_long, ...) -> c_long;
    pub fn sched_yield() -> c_int;
    pub fn close(fd: c_int) -> c_int;
    pub fn unlink(path: *const c_char) -> c_int;
    pub fn signal(number: c_int, handler: usize) -> usize;
    pub fn _exit(status: c_int) -> !;
}

/// os_error is the text of errno.
pub fn os_error() -> String {
    std::io::Error::last_os_error().to_string()
}

pub fn errno() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

pub const EINTR: i32 = 4;
pub const EAGAIN: i32 = 11;
pub const ECONNRESET: i32 = 104;
