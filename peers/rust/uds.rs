//! uds: SOCK_SEQPACKET, each packet with a u32 that says what is left of its message (docs/wire.md).
use crate::exchange::{get32, put32};
use crate::leave::{forget_path, new_path, remember_path};
use crate::rawfd::{set_buffers, sockopt, RawFd, Wait};
use crate::worker::{Conn, Listener, Options};
use crate::{die, die_os, sys};
use std::os::raw::{c_int, c_void};

const HEAD: usize = 4;
const PACKET: usize = 80 << 10;
const COPY_LIMIT: usize = 16 << 10;

struct Uds {
    fd: RawFd,
    max: usize,
    packet: usize,
    sndbuf: usize,
    input: Vec<u8>,
    output: Vec<u8>,
}

struct UdsWaiter {
    fd: c_int,
    path: String,
}

pub fn address(path: &str) -> sys::sockaddr_un {
    let mut a = sys::sockaddr_un { family: sys::AF_UNIX as u16, path: [0; 108] };
    if path.len() > 107 {
        die!("the path {:?} is too long for a socket", path);
    }
    a.path[..path.len()].copy_from_slice(path.as_bytes());
    a
}

/// listen_at makes a listening socket of that kind at path; dial_at connects to one.
pub fn listen_at(kind: c_int, path: &str) -> c_int {
    let a = address(path);
    unsafe {
        let fd = sys::socket(sys::AF_UNIX, kind | sys::SOCK_CLOEXEC, 0);
        if fd < 0 || sys::bind(fd, &a, 110) != 0 {
            die_os!("listen {}", path);
        }
        remember_path(path);
        if sys::listen(fd, 1) != 0 {
            die_os!("listen {}", path);
        }
        fd
    }
}

pub fn dial_at(kind: c_int, path: &str) -> c_int {
    let a = address(path);
    unsafe {
        let fd = sys::socket(sys::AF_UNIX, kind | sys::SOCK_CLOEXEC, 0);
        if fd < 0 || sys::connect(fd, &a, 110) != 0 {
            die_os!("dial {}", path);
        }
        fd
    }
}

/// accept takes the first connection.
pub fn accept(fd: c_int) -> c_int {
    loop {
        let c = unsafe { sys::accept4(fd, std::ptr::null_mut(), std::ptr::null_mut(), sys::SOCK_CLOEXEC) };
        if c >= 0 {
            return c;
        }
        if sys::errno() != sys::EINTR {
            die_os!("accept");
        }
    }
}

fn connection(fd: c_int, o: &Options) -> Box<dyn Conn> {
    set_buffers(fd, o.buffer);
    let sndbuf = sockopt(fd, sys::SOL_SOCKET, sys::SO_SNDBUF) as usize;
    let room = sndbuf - 32; // the rest of the buffer is the kernel's
    Box::new(Uds {
        fd: RawFd::new(fd, fd, true, Wait::parse(&o.wait, Wait::Block)),
        max: o.max_message,
        packet: PACKET.min(room),
        sndbuf,
        input: vec![0; HEAD + o.max_message + PACKET], // one packet more, so that one too long is seen and not cut
        output: vec![0; (HEAD + o.max_message.min(COPY_LIMIT)).min(room)],
    })
}

pub fn listen(o: &Options) -> Box<dyn Listener> {
    let path = new_path(&o.dir, ".sock");
    Box::new(UdsWaiter { fd: listen_at(sys::SOCK_SEQPACKET, &path), path })
}

impl Listener for UdsWaiter {
    fn endpoint(&self) -> &str {
        &self.path
    }
    fn accept(self: Box<Self>, o: &Options) -> Box<dyn Conn> {
        let fd = accept(self.fd);
        unsafe { sys::close(self.fd) };
        forget_path(&self.path);
        connection(fd, o)
    }
}

pub fn dial(o: &Options, endpoint: &str) -> Box<dyn Conn> {
    connection(dial_at(sys::SOCK_SEQPACKET, endpoint), o)
}

impl Uds {
    /// packet receives one to input[at..]: what its head says is left, and how many bytes of the message are in it.
    fn packet(&mut self, at: usize) -> Option<(usize, usize)> {
        let room = self.input.len() - at;
        let n = self.fd.read(&mut self.input[at..], true);
        if n == 0 {
            return None;
        }
        if n < HEAD || n > room {
            die!("malformed packet of {} B", n);
        }
        Some((get32(&self.input, at) as usize, n - HEAD))
    }
}

impl Conn for Uds {
    fn send(&mut self, mut msg: &[u8]) {
        put32(&mut self.output, 0, msg.len() as u32);
        if msg.len() <= self.output.len() - HEAD {
            let n = HEAD + msg.len();
            self.output[HEAD..n].copy_from_slice(msg);
            return self.fd.write(&self.output[..n], &[]);
        }
        while !msg.is_empty() {
            let n = msg.len().min(self.packet - HEAD);
            put32(&mut self.output, 0, msg.len() as u32);
            self.fd.write(&self.output[..HEAD], &msg[..n]);
            msg = &msg[n..];
        }
    }

    fn recv(&mut self) -> Option<&mut [u8]> {
        let (size, mut have) = self.packet(0)?;
        if size > self.max {
            die!("a packet announces {} B, at most {} B were agreed on", size, self.max);
        }
        while have < size {
            // The head of a further packet goes where the last bytes of the message are; they are put back.
            let kept: [u8; HEAD] = self.input[have..have + HEAD].try_into().unwrap();
            let (left, n) = self.packet(have).unwrap_or_else(|| die!("the peer went away inside a message"));
            self.input[have..have + HEAD].copy_from_slice(&kept);
            if left != size - have || n == 0 {
                die!("a packet says {} B are left of a message, want {}", left, size - have);
            }
            have += n;
        }
        if have > size {
            die!("a packet with {} B more than its message", have - size);
        }
        Some(&mut self.input[HEAD..HEAD + size])
    }

    /// in_flight sends one message through a socket pair and asks the kernel what it took: it counts memory, not bytes.
    fn in_flight(&mut self, size: usize) -> usize {
        let mut fds = [0; 2];
        let kind = sys::SOCK_SEQPACKET | sys::SOCK_CLOEXEC | sys::SOCK_NONBLOCK;
        if unsafe { sys::socketpair(sys::AF_UNIX, kind, 0, fds.as_mut_ptr()) } != 0 {
            return 1;
        }
        let half = (self.sndbuf / 2) as i32;
        unsafe { sys::setsockopt(fds[0], sys::SOL_SOCKET, sys::SO_SNDBUF, &half as *const i32 as *const c_void, 4) };
        let b = vec![0u8; self.packet];
        let (mut left, mut cost) = (size, self.sndbuf as i32 + 1);
        loop {
            let n = left.min(self.packet - HEAD);
            if unsafe { sys::write(fds[0], b.as_ptr() as *const c_void, HEAD + n) } < 0 {
                break;
            }
            left -= n;
            if left == 0 {
                unsafe { sys::ioctl(fds[0], sys::SIOCOUTQ, &mut cost as *mut i32) };
                break;
            }
        }
        for fd in fds {
            unsafe { sys::close(fd) };
        }
        self.sndbuf / cost.max(1) as usize
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        vec![
            ("socket", "SOCK_SEQPACKET".to_string()),
            ("sndbuf", self.sndbuf.to_string()),
            ("rcvbuf", sockopt(self.fd.r, sys::SOL_SOCKET, sys::SO_RCVBUF).to_string()),
            ("packet", self.packet.to_string()),
        ]
    }
}
