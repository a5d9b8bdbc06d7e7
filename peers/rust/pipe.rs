//! pipe: two FIFOs, frames (docs/wire.md).
use crate::leave::{c_path, forget_path, new_path, remember_path};
use crate::measure::now;
use crate::rawfd::{poll, read_within, write_all, RawFd, Stream, Wait};
use crate::worker::{Conn, Listener, Options};
use crate::{die, die_os, sys};
use std::os::raw::c_int;
use std::os::unix::fs::FileTypeExt;

const MAGIC: &[u8; 8] = b"msgbpip1";
const DIAL_MS: i64 = 10_000;
const PAGE: usize = 4096;

struct Pipe {
    s: Stream,
}

struct PipeWaiter {
    up: c_int,
    base: String,
}

fn open_fifo(path: &str, mode: c_int) -> c_int {
    match std::fs::metadata(path) {
        Ok(m) if m.file_type().is_fifo() => {}
        _ => die!("pipe: {} is not a FIFO", path),
    }
    let fd = unsafe { sys::open(c_path(path).as_ptr(), mode | sys::O_NONBLOCK | sys::O_CLOEXEC) };
    if fd < 0 {
        die_os!("pipe: open {}", path);
    }
    fd
}

fn connection(r: c_int, w: c_int, o: &Options) -> Box<dyn Conn> {
    if o.buffer > 0 {
        for fd in [r, w] {
            if unsafe { sys::fcntl(fd, sys::F_SETPIPE_SZ, o.buffer) } < 0 {
                die_os!("pipe: buffer of {} B", o.buffer);
            }
        }
    }
    Box::new(Pipe { s: Stream::new(RawFd::new(r, w, false, Wait::parse(&o.wait, Wait::Block)), o.max_message) })
}

pub fn listen(o: &Options) -> Box<dyn Listener> {
    let base = new_path(&o.dir, "");
    for ending in ["up", "down"] {
        let path = format!("{}.{}", base, ending);
        if unsafe { sys::mkfifo(c_path(&path).as_ptr(), 0o600) } != 0 {
            die_os!("pipe: make {}", path);
        }
        remember_path(&path);
    }
    Box::new(PipeWaiter { up: open_fifo(&format!("{}.up", base), sys::O_RDONLY), base })
}

impl Listener for PipeWaiter {
    fn endpoint(&self) -> &str {
        &self.base
    }

    fn accept(self: Box<Self>, o: &Options) -> Box<dyn Conn> {
        let (up, down) = (format!("{}.up", self.base), format!("{}.down", self.base));
        let mut hello = [0; 8];
        // Before the first writer has come there is no POLLHUP, so this sleeps until then.
        while poll(&mut [(self.up, sys::POLLIN)], -1)[0] == 0 {}
        if !read_within(self.up, &mut hello, DIAL_MS) || hello != *MAGIC {
            die!("pipe: the peer did not greet");
        }
        let w = open_fifo(&down, sys::O_WRONLY);
        forget_path(&up);
        forget_path(&down);
        if !write_all(w, MAGIC) {
            die_os!("pipe: the peer has gone");
        }
        connection(self.up, w, o)
    }
}

pub fn dial(o: &Options, endpoint: &str) -> Box<dyn Conn> {
    let r = open_fifo(&format!("{}.down", endpoint), sys::O_RDONLY);
    let w = open_fifo(&format!("{}.up", endpoint), sys::O_WRONLY);
    let mut hello = [0; 8];
    if !write_all(w, MAGIC) {
        die_os!("pipe: the listener has gone");
    }
    // POLLERR at our end of the way up: the listener has gone without an answer.
    let until = now() + DIAL_MS * 1_000_000;
    loop {
        let left = (until - now()) / 1_000_000;
        if left <= 0 {
            die!("pipe: not accepted within {} ms", DIAL_MS);
        }
        match poll(&mut [(r, sys::POLLIN), (w, 0)], left as c_int) {
            [0, 0] => {}
            [0, _] => die!("pipe: the listener has gone"),
            _ => break,
        }
    }
    if !read_within(r, &mut hello, DIAL_MS) || hello != *MAGIC {
        die!("pipe: the listener did not greet");
    }
    connection(r, w, o)
}

impl Pipe {
    fn capacity(&self) -> usize {
        let size = |fd| unsafe { sys::fcntl(fd, sys::F_GETPIPE_SZ) }.max(PAGE as i32) as usize;
        size(self.s.fd.r).min(size(self.s.fd.w))
    }
}

impl Conn for Pipe {
    fn send(&mut self, msg: &[u8]) {
        self.s.send(msg);
    }
    fn recv(&mut self) -> Option<&mut [u8]> {
        self.s.recv()
    }
    /// The kernel counts pages: one may be taken by the rest of what is being read.
    fn in_flight(&mut self, size: usize) -> usize {
        let (frame, pages) = (size + 4, (self.capacity() / PAGE - 1).max(1));
        if frame <= PAGE {
            pages * (PAGE / frame)
        } else {
            pages / ((frame + PAGE - 1) / PAGE)
        }
    }
    fn facts(&self) -> Vec<(&'static str, String)> {
        vec![("pipe_size", self.capacity().to_string())]
    }
}
