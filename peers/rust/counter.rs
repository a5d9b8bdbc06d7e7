//! ping-pong and pipeline: a counter comes back plus one. Payloads of 8 B and more start with the message's sequence number,
//! the rest is a fixed pattern; shorter ones are the pattern alone.
use crate::die;
use crate::drive::{drive, Op};
use crate::exchange::*;
use crate::worker::{Params, Pattern, Scenario, Side};

pub fn xorshift32(mut x: u32) -> u32 {
    x ^= x << 13;
    x ^= x >> 17;
    x ^ x << 5
}

fn size(p: &Params) -> usize {
    ENVELOPE + p.payload as usize
}

struct Pinger {
    r: Requester,
    message: Vec<u8>,
}

impl Pinger {
    fn new(s: &mut Side) -> Pinger {
        let mut message = vec![0; size(&s.p)];
        let mut x = 12345;
        for b in &mut message[ENVELOPE..] {
            x = xorshift32(x);
            *b = x as u8;
        }
        Pinger { r: Requester::new(s.conn.take().unwrap()), message }
    }

    fn request(&mut self, now: i64) {
        if self.message.len() >= ENVELOPE + 8 {
            put64(&mut self.message, ENVELOPE, self.r.seq + 1);
        }
        self.r.send(&mut self.message, now, REQUEST);
    }

    /// reply checks every byte of the next reply.
    fn reply(&mut self) {
        let seq = self.r.replied + 1;
        let got = self.r.receive(REPLY);
        if got.len() != self.message.len() {
            die!("reply {} carries {} B, want {} B", seq, got.len() - ENVELOPE, self.message.len() - ENVELOPE);
        }
        let mut from = ENVELOPE;
        if got.len() >= ENVELOPE + 8 {
            if get64(got, ENVELOPE) != seq + 1 {
                die!("reply {} carries the counter {}, want {}", seq, get64(got, ENVELOPE), seq + 1);
            }
            from += 8;
        }
        if got[from..] != self.message[from..] {
            die!("reply {} is not what was sent", seq);
        }
    }

    /// counts gives the connection back and fills in what the messages of the window were.
    fn counts(self, s: &mut Side) {
        s.m.messages = s.m.ops;
        s.m.payload_bytes = s.m.ops * s.p.payload;
        s.m.request_bytes = self.message.len() as i64;
        s.m.response_bytes = s.m.request_bytes;
        s.conn = Some(self.r.conn);
    }
}

impl Op for Pinger {
    fn run(&mut self, now: i64) -> (i64, i64) {
        self.request(now);
        self.reply();
        (1, now)
    }
    fn control(&mut self, kind: u32) {
        self.r.control(kind);
    }
}

fn ping_client(s: &mut Side) {
    let mut x = Pinger::new(s);
    drive(&s.p, &s.start, &mut s.m, &mut x);
    x.counts(s);
}

fn server(s: &mut Side) {
    let want = size(&s.p);
    let mut out = vec![0; want.min(SMALL_MESSAGE)];
    serve(s, &mut out, |request, out, seq| {
        if request.len() != want {
            die!("request {} carries {} B, want {} B", seq, request.len() - ENVELOPE, want - ENVELOPE);
        }
        let reply = answer(out, request);
        if reply.len() >= ENVELOPE + 8 {
            let v = get64(reply, ENVELOPE);
            put64(reply, ENVELOPE, v.wrapping_add(1));
        }
        reply
    });
}

/// effective_depth: a client that sends more than the buffers of one direction take, while its server waits for room in the
/// other one, would never receive.
pub fn effective_depth(s: &mut Side, size: usize) -> usize {
    let fit = s.conn.as_mut().unwrap().in_flight(size);
    (s.p.depth as usize).min(fit).max(1)
}

/// Cycler sends depth requests, then receives as many replies.
struct Cycler {
    x: Pinger,
    depth: usize,
}

impl Op for Cycler {
    fn run(&mut self, now: i64) -> (i64, i64) {
        for _ in 0..self.depth {
            self.x.request(now);
        }
        for _ in 0..self.depth {
            self.x.reply();
        }
        (self.depth as i64, now)
    }
    fn control(&mut self, kind: u32) {
        self.x.r.control(kind);
    }
}

/// Windower always has depth requests in flight.
struct Windower {
    x: Pinger,
    stamps: Vec<i64>, // when each request in flight was sent, by sequence number
}

impl Windower {
    fn put(&mut self, now: i64) {
        self.x.request(now);
        let n = self.stamps.len() as u64;
        self.stamps[(self.x.r.seq % n) as usize] = now;
    }
}

impl Op for Windower {
    fn run(&mut self, now: i64) -> (i64, i64) {
        self.put(now);
        self.x.reply();
        (1, self.stamps[(self.x.r.replied % self.stamps.len() as u64) as usize])
    }
    /// prime puts all but one request in flight.
    fn prime(&mut self, now: i64) {
        for _ in 1..self.stamps.len() {
            self.put(now);
        }
    }
    fn drain(&mut self) {
        while self.x.r.replied < self.x.r.seq {
            self.x.reply();
        }
    }
    fn control(&mut self, kind: u32) {
        self.x.r.control(kind);
    }
}

fn pipeline_client(s: &mut Side) {
    let depth = effective_depth(s, size(&s.p));
    s.m.facts.insert("depth".into(), depth.to_string());
    let x = Pinger::new(s);
    if s.p.mode == "window" {
        let mut w = Windower { x, stamps: vec![0; depth] };
        drive(&s.p, &s.start, &mut s.m, &mut w);
        w.x.counts(s);
        s.m.latency_kind = "rtt";
        s.m.sent = s.m.ops + depth as i64 - 1; // the last ones in flight are received after the window
    } else {
        let mut c = Cycler { x, depth };
        drive(&s.p, &s.start, &mut s.m, &mut c);
        c.x.counts(s);
        s.m.latency_kind = "cycle";
        s.m.sent = s.m.ops;
    }
    s.m.received = s.m.sent;
}

pub const PING_PONG: Scenario = Scenario {
    name: "ping-pong",
    pattern: Pattern::RequestReply,
    no_transport: false,
    max_message: size,
    client: ping_client,
    server: Some(server),
};

pub const PIPELINE: Scenario = Scenario {
    name: "pipeline",
    pattern: Pattern::Pipelined,
    no_transport: false,
    max_message: size,
    client: pipeline_client,
    server: Some(server),
};
