//! I/O on descriptors with the three wait strategies, and frames over byte streams.
use crate::exchange::{get32, put32};
use crate::measure::now;
use crate::{die, die_os, sys};
use std::os::raw::{c_int, c_void};

#[derive(Clone, Copy, PartialEq)]
pub enum Wait {
    Block,
    Spin,
    Hybrid,
}

impl Wait {
    pub fn parse(text: &str, standard: Wait) -> Wait {
        match text {
            "" => standard,
            "block" => Wait::Block,
            "spin" => Wait::Spin,
            "hybrid" => Wait::Hybrid,
            _ => die!("no wait strategy {:?}", text),
        }
    }
}

const HYBRID_SPIN: i64 = 50_000;

/// RawFd is one connection: a socket, or the reading end of one pipe and the writing end of another.
pub struct RawFd {
    pub r: c_int,
    pub w: c_int,
    socket: bool,
    wait: Wait,
}

fn nonblock(fd: c_int, on: bool) {
    unsafe {
        let flags = sys::fcntl(fd, sys::F_GETFL);
        let flags = if on { flags | sys::O_NONBLOCK } else { flags & !sys::O_NONBLOCK };
        if sys::fcntl(fd, sys::F_SETFL, flags) < 0 {
            die_os!("fcntl");
        }
    }
}

impl RawFd {
    pub fn new(r: c_int, w: c_int, socket: bool, wait: Wait) -> RawFd {
        // Sockets stay in blocking mode, since a flag makes a single call non-blocking. Pipes have no such flag.
        for fd in [r, w] {
            nonblock(fd, !socket && wait != Wait::Block);
        }
        RawFd { r, w, socket, wait }
    }

    /// idle is called when there is nothing to do: it sleeps, or returns to try again.
    fn idle(&self, fd: c_int, events: i16, since: &mut i64) {
        match self.wait {
            Wait::Spin => return,
            Wait::Hybrid => {
                let t = now();
                if *since == 0 {
                    *since = t;
                }
                if t - *since <= HYBRID_SPIN {
                    return;
                }
            }
            Wait::Block => {}
        }
        poll(&mut [(fd, events)], -1);
    }

    /// read reads what is there and waits if there is nothing; 0 at the peer's end. For packets, the packet's whole length.
    pub fn read(&self, b: &mut [u8], packet: bool) -> usize {
        let mut since = 0;
        let mut flags = if packet { sys::MSG_TRUNC } else { 0 };
        if self.wait != Wait::Block {
            flags |= sys::MSG_DONTWAIT;
        }
        loop {
            let p = b.as_mut_ptr() as *mut c_void;
            let n = if self.socket { unsafe { sys::recv(self.r, p, b.len(), flags) } } else { unsafe { sys::read(self.r, p, b.len()) } };
            if n >= 0 {
                return n as usize;
            }
            match sys::errno() {
                sys::EINTR => {}
                // A packet socket tells a reset once, before what the peer had sent.
                sys::ECONNRESET if packet => {}
                sys::ECONNRESET => return 0,
                sys::EAGAIN => self.idle(self.r, sys::POLLIN, &mut since),
                _ => die_os!("read"),
            }
        }
    }

    /// write writes a and then b, all of them, with one call where there is room.
    pub fn write(&self, mut a: &[u8], mut b: &[u8]) {
        let mut since = 0;
        let flags = sys::MSG_NOSIGNAL | if self.wait == Wait::Block { 0 } else { sys::MSG_DONTWAIT };
        while !a.is_empty() || !b.is_empty() {
            let mut v = [
                sys::iovec { base: a.as_ptr() as *const c_void, len: a.len() },
                sys::iovec { base: b.as_ptr() as *const c_void, len: b.len() },
            ];
            let n = unsafe {
                match (self.socket, b.is_empty()) {
                    (true, true) => sys::send(self.w, v[0].base, a.len(), flags),
                    (true, false) => sys::sendmsg(self.w, &message(&mut v), flags),
                    (false, true) => sys::write(self.w, v[0].base, a.len()),
                    (false, false) => sys::writev(self.w, v.as_ptr(), 2),
                }
            };
            if n < 0 {
                match sys::errno() {
                    sys::EINTR => {}
                    sys::EAGAIN => self.idle(self.w, sys::POLLOUT, &mut since),
                    _ => die_os!("write"),
                }
                continue;
            }
            let from_a = (n as usize).min(a.len());
            a = &a[from_a..];
            b = &b[n as usize - from_a..];
        }
    }
}

/// message is a header for sendmsg and recvmsg without a control message.
pub fn message(v: &mut [sys::iovec]) -> sys::msghdr {
    sys::msghdr {
        name: std::ptr::null_mut(),
        namelen: 0,
        iov: v.as_mut_ptr(),
        iovlen: v.len(),
        control: std::ptr::null_mut(),
        controllen: 0,
        flags: 0,
    }
}

/// poll returns what happened to each descriptor; a negative ms waits without end.
pub fn poll<const N: usize>(fds: &mut [(c_int, i16); N], ms: c_int) -> [i16; N] {
    let mut p: Vec<sys::pollfd> = fds.iter().map(|f| sys::pollfd { fd: f.0, events: f.1, revents: 0 }).collect();
    unsafe { sys::poll(p.as_mut_ptr(), N as u64, ms) };
    let mut out = [0; N];
    for (o, f) in out.iter_mut().zip(&p) {
        *o = f.revents;
    }
    out
}

pub fn sockopt(fd: c_int, level: c_int, option: c_int) -> i32 {
    let (mut v, mut n) = (-1i32, 4);
    unsafe { sys::getsockopt(fd, level, option, &mut v as *mut i32 as *mut c_void, &mut n) };
    v
}

pub fn set_sockopt(fd: c_int, level: c_int, option: c_int, v: i32) {
    if unsafe { sys::setsockopt(fd, level, option, &v as *const i32 as *const c_void, 4) } != 0 {
        die_os!("setsockopt");
    }
}

/// set_buffers asks the kernel for buffers of so many bytes, which it doubles; 0 leaves them.
pub fn set_buffers(fd: c_int, bytes: i32) {
    if bytes > 0 {
        set_sockopt(fd, sys::SOL_SOCKET, sys::SO_SNDBUF, bytes / 2);
        set_sockopt(fd, sys::SOL_SOCKET, sys::SO_RCVBUF, bytes / 2);
    }
}

/// read_within reads exactly b.len() bytes before ms have passed; false if they have not come or the peer has gone.
pub fn read_within(fd: c_int, b: &mut [u8], ms: i64) -> bool {
    let until = now() + ms * 1_000_000;
    let mut have = 0;
    while have < b.len() {
        let left = (until - now() + 999_999) / 1_000_000;
        if left <= 0 || poll(&mut [(fd, sys::POLLIN)], left as c_int)[0] == 0 {
            if left <= 0 {
                return false;
            }
            continue;
        }
        let n = unsafe { sys::read(fd, b[have..].as_mut_ptr() as *mut c_void, b.len() - have) };
        if n == 0 || n < 0 && sys::errno() != sys::EINTR && sys::errno() != sys::EAGAIN {
            return false;
        }
        have += n.max(0) as usize;
    }
    true
}

pub fn write_all(fd: c_int, mut b: &[u8]) -> bool {
    while !b.is_empty() {
        let n = unsafe { sys::write(fd, b.as_ptr() as *const c_void, b.len()) };
        if n < 0 && sys::errno() != sys::EINTR {
            return false;
        }
        b = &b[n.max(0) as usize..];
    }
    true
}

const HEAD: usize = 4;
const COPY_LIMIT: usize = 16 << 10;
const SLACK: usize = 64 << 10;

/// Stream carries frames: u32 length, message.
pub struct Stream {
    pub fd: RawFd,
    max: usize,
    input: Vec<u8>,
    r: usize, // input[r..w] is read and not yet returned
    w: usize,
    output: Vec<u8>,
}

impl Stream {
    pub fn new(fd: RawFd, max: usize) -> Stream {
        Stream { fd, max, input: vec![0; HEAD + max + SLACK], r: 0, w: 0, output: vec![0; HEAD + max.min(COPY_LIMIT)] }
    }

    pub fn send(&mut self, msg: &[u8]) {
        put32(&mut self.output, 0, msg.len() as u32);
        if msg.len() > COPY_LIMIT {
            return self.fd.write(&self.output[..HEAD], msg);
        }
        let n = HEAD + msg.len();
        self.output[HEAD..n].copy_from_slice(msg);
        self.fd.write(&self.output[..n], &[]);
    }

    /// fill reads until n bytes of the current frame are there; false at the peer's end, before the first of them.
    fn fill(&mut self, n: usize) -> bool {
        if self.w - self.r >= n {
            return true;
        }
        if self.r == self.w {
            self.r = 0; // the same cache lines again and again
            self.w = 0;
        } else if self.r + n > self.input.len() {
            self.input.copy_within(self.r..self.w, 0);
            self.w -= self.r;
            self.r = 0;
        }
        while self.w - self.r < n {
            let got = self.fd.read(&mut self.input[self.w..], false);
            if got == 0 {
                if self.w > self.r {
                    die!("the peer went away inside a message");
                }
                return false;
            }
            self.w += got;
        }
        true
    }

    pub fn recv(&mut self) -> Option<&mut [u8]> {
        if !self.fill(HEAD) {
            return None;
        }
        let n = get32(&self.input, self.r) as usize;
        if n > self.max {
            die!("a frame announces {} B, at most {} B were agreed on", n, self.max);
        }
        if !self.fill(HEAD + n) {
            die!("the peer went away inside a message");
        }
        let from = self.r + HEAD;
        self.r = from + n;
        Some(&mut self.input[from..from + n])
    }
}
