//! tcp: a token, then frames (docs/wire.md).
use crate::rawfd::{poll, set_buffers, sockopt, RawFd, Stream, Wait};
use crate::worker::{Conn, Listener, Options};
use crate::{die, sys};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::io::{AsRawFd, IntoRawFd};
use std::time::{Duration, Instant};

const MAGIC: &[u8; 8] = b"msgbtcp1";
const HANDSHAKE: Duration = Duration::from_secs(5);
const SEGMENT_COST: usize = 2304; // what the kernel counts for a small write beyond its bytes

struct Tcp {
    s: Stream,
    nodelay: bool,
}

struct TcpWaiter {
    l: TcpListener,
    token: [u8; 16],
    endpoint: String,
}

fn connection(c: TcpStream, o: &Options) -> Box<dyn Conn> {
    let set = || -> std::io::Result<bool> {
        c.set_nodelay(!o.nagle)?;
        c.set_nonblocking(false)?;
        c.set_read_timeout(None)?;
        c.nodelay()
    };
    let nodelay = set().unwrap_or_else(|e| die!("tcp: {}", e));
    let fd = c.into_raw_fd();
    set_buffers(fd, o.buffer);
    Box::new(Tcp { s: Stream::new(RawFd::new(fd, fd, true, Wait::parse(&o.wait, Wait::Block)), o.max_message), nodelay })
}

pub fn listen(_: &Options) -> Box<dyn Listener> {
    let mut token = [0; 16];
    let l = TcpListener::bind("127.0.0.1:0").unwrap_or_else(|e| die!("listen tcp: {}", e));
    let address = l.local_addr().unwrap_or_else(|e| die!("listen tcp: {}", e));
    if let Err(e) = std::fs::File::open("/dev/urandom").and_then(|mut f| f.read_exact(&mut token)) {
        die!("random token: {}", e);
    }
    let digits: String = token.iter().map(|b| format!("{:02x}", b)).collect();
    Box::new(TcpWaiter { l, token, endpoint: format!("{}/{}", address, digits) })
}

struct Guest {
    c: TcpStream,
    hello: Vec<u8>,
    until: Instant,
}

impl Listener for TcpWaiter {
    fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// accept serves those who connect side by side, so that one that says nothing holds up nobody.
    fn accept(self: Box<Self>, o: &Options) -> Box<dyn Conn> {
        let want = [&MAGIC[..], &self.token[..8]].concat();
        let answer = [&MAGIC[..], &self.token[8..]].concat();
        let mut guests: Vec<Guest> = Vec::new();
        self.l.set_nonblocking(true).unwrap_or_else(|e| die!("accept tcp: {}", e));
        loop {
            // With guests in the house this looks at all of them each millisecond: it is before the window.
            poll(&mut [(self.l.as_raw_fd(), sys::POLLIN)], if guests.is_empty() { -1 } else { 1 });
            if let Ok((c, _)) = self.l.accept() {
                if c.set_nonblocking(true).is_ok() {
                    guests.push(Guest { c, hello: Vec::new(), until: Instant::now() + HANDSHAKE });
                }
            }
            let mut i = 0;
            while i < guests.len() {
                let g = &mut guests[i];
                let mut b = [0; 16];
                let more = g.c.read(&mut b[..16 - g.hello.len()]);
                match more {
                    Ok(n) if n > 0 => g.hello.extend_from_slice(&b[..n]),
                    Err(e) if e.kind() == std::io::ErrorKind::WouldBlock && Instant::now() < g.until => {
                        i += 1;
                        continue;
                    }
                    _ => {
                        guests.swap_remove(i);
                        continue;
                    }
                }
                if g.hello.len() < 16 {
                    i += 1;
                    continue;
                }
                let mut g = guests.swap_remove(i);
                if g.hello == want && g.c.write_all(&answer).is_ok() {
                    return connection(g.c, o);
                }
            }
        }
    }
}

pub fn dial(o: &Options, endpoint: &str) -> Box<dyn Conn> {
    let wrong = || -> ! { die!("endpoint {:?}: want 127.0.0.1:PORT/TOKEN", endpoint) };
    let (address, digits) = endpoint.split_once('/').unwrap_or_else(|| wrong());
    let token: Vec<u8> = (0..digits.len() / 2).filter_map(|i| u8::from_str_radix(digits.get(2 * i..2 * i + 2)?, 16).ok()).collect();
    if token.len() != 16 || digits.len() != 32 {
        wrong();
    }
    let mut c = TcpStream::connect(address).unwrap_or_else(|e| die!("dial tcp {}: {}", endpoint, e));
    let mut answer = [0; 16];
    let greeted = c
        .set_read_timeout(Some(2 * HANDSHAKE))
        .and_then(|_| c.write_all(&[&MAGIC[..], &token[..8]].concat()))
        .and_then(|_| c.read_exact(&mut answer));
    if let Err(e) = greeted {
        die!("dial tcp: the listener did not answer: {}", e);
    }
    if answer[..] != [&MAGIC[..], &token[8..]].concat()[..] {
        die!("dial tcp: who listens there is not the one meant");
    }
    connection(c, o)
}

impl Conn for Tcp {
    fn send(&mut self, msg: &[u8]) {
        self.s.send(msg);
    }
    fn recv(&mut self) -> Option<&mut [u8]> {
        self.s.recv()
    }
    /// Only the sender's buffer is counted on, and half of it is left for rounding.
    fn in_flight(&mut self, size: usize) -> usize {
        sockopt(self.s.fd.w, sys::SOL_SOCKET, sys::SO_SNDBUF) as usize / 2 / (4 + size + SEGMENT_COST)
    }
    fn facts(&self) -> Vec<(&'static str, String)> {
        vec![
            ("nodelay", if self.nodelay { "on" } else { "off" }.to_string()),
            ("sndbuf", sockopt(self.s.fd.w, sys::SOL_SOCKET, sys::SO_SNDBUF).to_string()),
            ("rcvbuf", sockopt(self.s.fd.w, sys::SOL_SOCKET, sys::SO_RCVBUF).to_string()),
        ]
    }
}
