//! shm: meeting over a Unix socket, a memfd passed over it, and a thread that notices the peer's end (docs/wire-shm.md).
use crate::exchange::{get32, get64, put32, put64};
use crate::leave::{c_path, forget_path, new_path};
use crate::rawfd::{message, read_within, write_all, Wait};
use crate::shm_ring::{ends, round64, sleepers, Geometry, Receiver, Sender, SLOT};
use crate::shm_wait::wake_always;
use crate::uds::{accept, dial_at, listen_at};
use crate::worker::{Conn, Listener, Options};
use crate::{die, die_os, sys};
use std::os::raw::{c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering};

const MAGIC: u64 = 0x314d_4853_4247_534d;
const VERSION: u32 = 1;
const MEET_MS: i64 = 10_000;
const SLOTS: (u64, u64) = (512, 65_536);
const AREA: (u64, u64) = (1 << 20, 16 << 20);
const MAX_MESSAGE: u64 = 8 << 20;
const SOCK_STREAM: c_int = 1;
const HELLO: usize = 16;

struct Shm {
    tx: Sender,
    rx: Receiver,
    g: Geometry,
    mode: Wait,
}

struct ShmWaiter {
    fd: c_int,
    path: String,
    endpoint: String,
}

fn hello() -> [u8; HELLO] {
    let mut b = [0; HELLO];
    put64(&mut b, 0, MAGIC);
    put32(&mut b, 8, VERSION);
    b
}

fn greets(b: &[u8]) -> bool {
    get64(b, 0) == MAGIC && get32(b, 8) == VERSION
}

/// map maps a segment for the rest of the process.
fn map(memfd: c_int, g: &Geometry) -> *mut u8 {
    let p = unsafe { sys::mmap(std::ptr::null_mut(), g.size() as usize, sys::PROT_READ_WRITE, sys::MAP_SHARED, memfd, 0) };
    if p as isize == -1 {
        die_os!("shm: map");
    }
    unsafe { sys::close(memfd) };
    p as *mut u8
}

/// connection starts the thread that reads from the socket, on which nothing is sent any more: it ends when the peer closes
/// or dies.
fn connection(base: *mut u8, g: Geometry, direction: u64, sock: c_int, o: &Options) -> Box<dyn Conn> {
    let gone: &'static AtomicBool = Box::leak(Box::new(AtomicBool::new(false)));
    let mode = Wait::parse(&o.wait, Wait::Hybrid);
    let (tx, rx) = unsafe { ends(base, g, direction, mode, gone) };
    let words = sleepers(&tx, &rx);
    let watch = move || {
        let mut b = [0u8; 16];
        loop {
            let n = unsafe { sys::read(sock, b.as_mut_ptr() as *mut c_void, b.len()) };
            if n == 0 || n < 0 && sys::errno() != sys::EINTR {
                break;
            }
        }
        gone.store(true, Ordering::SeqCst);
        for w in words {
            wake_always(w);
        }
    };
    if std::thread::Builder::new().spawn(watch).is_err() {
        die!("shm: no thread to watch the peer");
    }
    Box::new(Shm { tx, rx, g, mode })
}

/// The endpoint is the path, percent-escaped.
fn escape(path: &str) -> String {
    path.bytes()
        .map(|c| if c.is_ascii_alphanumeric() || b"/-_.".contains(&c) { (c as char).to_string() } else { format!("%{:02X}", c) })
        .collect()
}

fn unescape(text: &str) -> String {
    let b = text.as_bytes();
    let (mut out, mut i) = (Vec::new(), 0);
    while i < b.len() {
        match text.get(i + 1..i + 3).and_then(|h| u8::from_str_radix(h, 16).ok()) {
            Some(v) if b[i] == b'%' => {
                out.push(v);
                i += 3;
            }
            _ => {
                out.push(b[i]);
                i += 1;
            }
        }
    }
    String::from_utf8(out).unwrap_or_else(|_| die!("endpoint {:?} is not a path", text))
}

pub fn listen(o: &Options) -> Box<dyn Listener> {
    if o.max_message as u64 > MAX_MESSAGE {
        die!("shm: messages of at most {} B", MAX_MESSAGE);
    }
    let path = new_path(&o.dir, ".shm");
    Box::new(ShmWaiter { fd: listen_at(SOCK_STREAM, &path), endpoint: escape(&path), path })
}

fn new_segment(o: &Options) -> (c_int, Geometry) {
    let (m, depth) = (round64(o.max_message as u64), o.depth as u64);
    let want = if depth > 1 { (4 * m).max((depth + 3) * m) } else { 4 * m };
    let bounded = |n: u64, within: (u64, u64)| n.next_power_of_two().clamp(within.0, within.1);
    let g = Geometry { slots: bounded(depth + depth / 4 + 2, SLOTS), area: bounded(want, AREA), max_message: o.max_message as u64 };
    let size = g.size() as i64;
    unsafe {
        let fd = sys::memfd_create(c_path("msgbench").as_ptr(), sys::MFD_CLOEXEC | sys::MFD_ALLOW_SEALING);
        if fd < 0 || sys::ftruncate(fd, size) != 0 || sys::fallocate(fd, 0, 0, size) != 0 || sys::fcntl(fd, sys::F_ADD_SEALS, sys::SEALS) != 0 {
            die_os!("shm: segment of {} B", size);
        }
        (fd, g)
    }
}

impl Listener for ShmWaiter {
    fn endpoint(&self) -> &str {
        &self.endpoint
    }

    fn accept(self: Box<Self>, o: &Options) -> Box<dyn Conn> {
        let sock = accept(self.fd);
        let (memfd, g) = new_segment(o);
        let keep = unsafe { sys::fcntl(memfd, 1030, 0) }; // F_DUPFD_CLOEXEC: map closes the other one
        let base = map(memfd, &g);
        let head = unsafe { std::slice::from_raw_parts_mut(base, 64) };
        put64(head, 0, MAGIC);
        put32(head, 8, VERSION);
        put32(head, 12, SLOT as u32);
        put64(head, 16, g.size());
        put64(head, 24, g.slots);
        put64(head, 32, g.area);
        put64(head, 40, g.max_message);
        let mut b = hello();
        let mut v = [sys::iovec { base: b.as_ptr() as *const c_void, len: HELLO }];
        let mut control = sys::rights { len: 20, level: sys::SOL_SOCKET, kind: sys::SCM_RIGHTS, fd: keep, pad: 0 };
        let mut m = message(&mut v);
        m.control = &mut control as *mut sys::rights as *mut c_void;
        m.controllen = std::mem::size_of::<sys::rights>();
        let sent = unsafe { sys::sendmsg(sock, &m, sys::MSG_NOSIGNAL) };
        if sent != HELLO as isize || !read_within(sock, &mut b, MEET_MS) || !greets(&b) {
            die!("shm: the peer did not join");
        }
        unsafe {
            sys::close(keep);
            sys::close(self.fd);
        }
        forget_path(&self.path);
        connection(base, g, 1, sock, o)
    }
}

/// receive_segment takes the listener's hello and the descriptor that comes with it.
fn receive_segment(sock: c_int) -> c_int {
    let mut b = [0u8; HELLO];
    let mut v = [sys::iovec { base: b.as_mut_ptr() as *const c_void, len: HELLO }];
    let mut control = sys::rights { len: 0, level: 0, kind: 0, fd: -1, pad: 0 };
    let mut m = message(&mut v);
    m.control = &mut control as *mut sys::rights as *mut c_void;
    m.controllen = std::mem::size_of::<sys::rights>();
    // The peer is given its time by the poll, since recvmsg has none.
    if crate::rawfd::poll(&mut [(sock, sys::POLLIN)], MEET_MS as c_int)[0] == 0 {
        die!("shm: the listener did not greet");
    }
    let n = unsafe { sys::recvmsg(sock, &mut m, sys::MSG_CMSG_CLOEXEC | sys::MSG_WAITALL) };
    if n != HELLO as isize || !greets(&b) {
        die!("shm: the listener did not greet");
    }
    if control.kind != sys::SCM_RIGHTS || control.len != 20 || control.fd < 0 {
        die!("shm: no segment came");
    }
    control.fd
}

pub fn dial(o: &Options, endpoint: &str) -> Box<dyn Conn> {
    let sock = dial_at(SOCK_STREAM, &unescape(endpoint));
    let fd = receive_segment(sock);
    let mut b = [0u8; 64];
    let (seals, size, read) = unsafe {
        (sys::fcntl(fd, sys::F_GET_SEALS), sys::lseek(fd, 0, 2), sys::pread(fd, b.as_mut_ptr() as *mut c_void, 64, 0))
    };
    if seals < 0 || seals & sys::SEALS != sys::SEALS || read != 64 {
        die!("shm: not a sealed segment");
    }
    let g = Geometry { slots: get64(&b, 24), area: get64(&b, 32), max_message: get64(&b, 40) };
    let power = |n: u64, within: (u64, u64)| n.is_power_of_two() && n >= within.0 && n <= within.1;
    let good = get64(&b, 0) == MAGIC
        && get32(&b, 8) == VERSION
        && get32(&b, 12) as u64 == SLOT
        && power(g.slots, SLOTS)
        && power(g.area, AREA)
        && g.max_message <= MAX_MESSAGE
        && 2 * round64(g.max_message) <= g.area
        && get64(&b, 16) == g.size()
        && size as u64 == g.size();
    if !good {
        die!("shm: the header of the segment is wrong");
    }
    if g.max_message < o.max_message as u64 {
        die!("shm: the segment takes messages of {} B, this side sends {} B", g.max_message, o.max_message);
    }
    let base = map(fd, &g);
    if !write_all(sock, &hello()) {
        die_os!("shm: the listener has gone");
    }
    connection(base, g, 0, sock, o)
}

impl Conn for Shm {
    fn send(&mut self, msg: &[u8]) {
        self.tx.send(msg);
    }
    fn recv(&mut self) -> Option<&mut [u8]> {
        self.rx.recv()
    }
    fn in_flight(&mut self, size: usize) -> usize {
        self.g.in_flight(size as u64)
    }
    fn facts(&self) -> Vec<(&'static str, String)> {
        let (wait, spin) = match self.mode {
            Wait::Block => ("block", None),
            Wait::Spin => ("spin", None),
            Wait::Hybrid => ("hybrid", Some(("max_spin_us", "50".to_string()))),
        };
        let mut f = vec![
            ("wait", wait.to_string()),
            ("slots", self.g.slots.to_string()),
            ("slot_bytes", SLOT.to_string()),
            ("area_bytes", self.g.area.to_string()),
            ("segment_bytes", self.g.size().to_string()),
        ];
        f.extend(spin);
        f
    }
}
