//! The envelope of each message, who counts them, and the server that answers.
use crate::worker::{Conn, Side};
use crate::{die, measure};

pub const ENVELOPE: usize = 32;
/// A larger request is answered in place; but writing into a shared line of the client's costs more than copying a small one.
pub const SMALL_MESSAGE: usize = 4096;

pub const REQUEST: u32 = 1;
pub const REPLY: u32 = 2;
pub const MARK: u32 = 3;
pub const FINISH: u32 = 4;

#[inline]
pub fn get32(b: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(b[at..at + 4].try_into().unwrap())
}

#[inline]
pub fn get64(b: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(b[at..at + 8].try_into().unwrap())
}

#[inline]
pub fn put32(b: &mut [u8], at: usize, v: u32) {
    b[at..at + 4].copy_from_slice(&v.to_le_bytes());
}

#[inline]
pub fn put64(b: &mut [u8], at: usize, v: u64) {
    b[at..at + 8].copy_from_slice(&v.to_le_bytes());
}

fn put_envelope(msg: &mut [u8], seq: u64, stamp: i64, kind: u32) {
    let n = (msg.len() - ENVELOPE) as u32;
    let head: &mut [u8; ENVELOPE] = (&mut msg[..ENVELOPE]).try_into().unwrap();
    put64(head, 0, seq);
    put64(head, 8, stamp as u64);
    put32(head, 16, kind);
    put32(head, 20, n);
    put64(head, 24, 0);
}

#[cold]
fn wrong_envelope(msg: &[u8], seq: u64, kind: u32) -> ! {
    if msg.len() < ENVELOPE {
        die!("a message of {} B is shorter than its envelope of {} B", msg.len(), ENVELOPE);
    }
    let got = get64(msg, 0);
    if get32(msg, 20) as usize != msg.len() - ENVELOPE {
        die!("message {} says it carries {} B, but {} B came", got, get32(msg, 20), msg.len() - ENVELOPE);
    }
    if get32(msg, 16) != kind {
        die!("message {} is of kind {}, want {}", got, get32(msg, 16), kind);
    }
    if got + 1 == seq {
        die!("message {} came twice", got);
    }
    if got < seq {
        die!("message {} came late: {} was expected", got, seq);
    }
    if got > seq {
        die!("message {} came where {} was expected: {} lost", got, seq, got - seq);
    }
    die!("message {}: the last 8 B of its envelope are not zero", got)
}

fn check_envelope(msg: &[u8], seq: u64, kind: u32) {
    if msg.len() < ENVELOPE
        || get64(msg, 0) != seq
        || get32(msg, 16) != kind
        || get32(msg, 20) as usize != msg.len() - ENVELOPE
        || get64(msg, 24) != 0
    {
        wrong_envelope(msg, seq, kind);
    }
}

/// Requester numbers the messages of a client and checks the replies' envelopes.
pub struct Requester {
    pub conn: Box<dyn Conn>,
    pub seq: u64,     // of the last message sent
    pub replied: u64, // of the last reply
}

impl Requester {
    pub fn new(conn: Box<dyn Conn>) -> Requester {
        Requester { conn, seq: 0, replied: 0 }
    }

    pub fn send(&mut self, msg: &mut [u8], now: i64, kind: u32) {
        self.seq += 1;
        put_envelope(msg, self.seq, now, kind);
        self.conn.send(msg);
    }

    /// receive returns the next reply, which is the one to the oldest request.
    pub fn receive(&mut self, kind: u32) -> &[u8] {
        self.replied += 1;
        let seq = self.replied;
        let reply = self.conn.recv().unwrap_or_else(|| die!("receive reply {}: the server has gone", seq));
        check_envelope(reply, seq, kind);
        reply
    }

    /// control sends MARK or FINISH and waits until it has come back.
    pub fn control(&mut self, kind: u32) {
        let mut msg = [0; ENVELOPE];
        self.send(&mut msg, 0, kind);
        self.receive(kind);
    }
}

/// serve answers requests until the client has finished. handle makes the reply, either in the request itself, which it
/// returns, or in out, of which it returns a part.
pub fn serve(s: &mut Side, out: &mut [u8], mut handle: impl for<'a> FnMut(&'a mut [u8], &'a mut [u8], u64) -> &'a mut [u8]) {
    let conn = s.conn.as_mut().unwrap();
    let mut seq = 0;
    loop {
        let got = conn.recv().unwrap_or_else(|| die!("receive request {}: the client went away before it had finished", seq + 1));
        // The message stays where it is until the next recv, which send does not touch: the borrow of conn would say otherwise.
        let request: &mut [u8] = unsafe { std::slice::from_raw_parts_mut(got.as_mut_ptr(), got.len()) };
        seq += 1;
        let kind = if request.len() < ENVELOPE { 0 } else { get32(request, 16) };
        check_envelope(request, seq, kind);
        match kind {
            REQUEST => {
                let reply = handle(request, out, seq);
                put32(reply, 16, REPLY);
                s.m.received += 1;
                conn.send(reply);
            }
            MARK => {
                s.m.received = 0;
                conn.send(request);
            }
            FINISH => {
                s.m.rss = measure::resident_bytes();
                conn.send(request);
                return;
            }
            _ => die!("message {} is of kind {}, which a client does not send", seq, kind),
        }
    }
}

/// answer is where a reply is made: a copy of a small request in out, or the request itself.
pub fn answer<'a>(out: &'a mut [u8], request: &'a mut [u8]) -> &'a mut [u8] {
    let n = request.len();
    if n > SMALL_MESSAGE || n > out.len() {
        return request;
    }
    out[..n].copy_from_slice(request);
    &mut out[..n]
}
