//! batch and pipeline-batch: a directory of n entries {u32 offset, u32 length}, then n items, each a u64; all are echoed plus
//! one. The sizes are drawn from xorshift32 with seed 12345: 2 to 1000 items.
use crate::counter::{effective_depth, xorshift32};
use crate::die;
use crate::drive::{drive, Op};
use crate::exchange::*;
use crate::worker::{Pattern, Scenario, Side};

const MIN_BATCH: usize = 2;
const MAX_BATCH: usize = 1000;
const ITEM: usize = 8; // bytes, and so is an entry
const MESSAGE: usize = ENVELOPE + MAX_BATCH * 2 * ITEM;

#[inline]
fn entry(j: usize) -> u64 {
    (j * ITEM) as u64 | (ITEM as u64) << 32
}

struct Batcher {
    r: Requester,
    random: u32,
    base: u64,
    bytes: i64, // of all messages of the window
    message: Vec<u8>,
    flight: Vec<(usize, u64)>, // items and the value of the first, of each batch in flight
}

/// items checks the directory of a batch and returns its items.
fn items(msg: &[u8], seq: u64) -> &[u8] {
    let p = &msg[ENVELOPE..];
    let n = p.len() / (2 * ITEM);
    if p.len() % (2 * ITEM) != 0 || !(MIN_BATCH..=MAX_BATCH).contains(&n) {
        die!("message {}: {} B are not a batch of {} to {} items", seq, p.len(), MIN_BATCH, MAX_BATCH);
    }
    let (directory, items) = p.split_at(n * ITEM);
    for (j, e) in directory.chunks_exact(ITEM).enumerate() {
        if get64(e, 0) != entry(j) {
            die!("message {}: entry {} of the directory is wrong", seq, j);
        }
    }
    items
}

impl Batcher {
    /// next makes the next batch and sends it.
    fn next(&mut self, now: i64) -> (usize, u64) {
        self.random = xorshift32(self.random);
        let n = self.random as usize % (MAX_BATCH - MIN_BATCH + 1) + MIN_BATCH;
        let msg = &mut self.message[..ENVELOPE + n * 2 * ITEM];
        let (directory, items) = msg[ENVELOPE..].split_at_mut(n * ITEM);
        for (j, e) in directory.chunks_exact_mut(ITEM).enumerate() {
            put64(e, 0, entry(j));
        }
        for (j, e) in items.chunks_exact_mut(ITEM).enumerate() {
            put64(e, 0, self.base + j as u64);
        }
        let batch = (n, self.base);
        self.base += n as u64;
        self.bytes += msg.len() as i64;
        self.r.send(msg, now, REQUEST);
        batch
    }

    /// echo receives a reply and checks every byte of it.
    fn echo(&mut self, (n, base): (usize, u64)) {
        let seq = self.r.replied + 1;
        let got = items(self.r.receive(REPLY), seq);
        if got.len() != n * ITEM {
            die!("reply {} carries {} items, want {}", seq, got.len() / ITEM, n);
        }
        for (j, e) in got.chunks_exact(ITEM).enumerate() {
            if get64(e, 0) != base + j as u64 + 1 {
                die!("reply {}: item {} is wrong", seq, j);
            }
        }
    }
}

impl Op for Batcher {
    /// run is one cycle: as many batches as go in flight, then their echoes. An operation is an item.
    fn run(&mut self, now: i64) -> (i64, i64) {
        let mut done = 0;
        for i in 0..self.flight.len() {
            self.flight[i] = self.next(now);
        }
        for i in 0..self.flight.len() {
            self.echo(self.flight[i]);
            done += self.flight[i].0 as i64;
        }
        (done, now)
    }
    fn begin(&mut self) {
        self.bytes = 0;
    }
    fn control(&mut self, kind: u32) {
        self.r.control(kind);
    }
}

fn client(s: &mut Side, depth: usize) {
    let r = Requester::new(s.conn.take().unwrap());
    let mut b = Batcher { r, random: 12345, base: 0, bytes: 0, message: vec![0; MESSAGE], flight: vec![(0, 0); depth] };
    drive(&s.p, &s.start, &mut s.m, &mut b);
    let m = &mut s.m;
    let messages = m.sent * depth as i64;
    m.messages = messages;
    m.sent = messages;
    m.received = messages;
    m.payload_bytes = b.bytes - messages * ENVELOPE as i64;
    m.request_bytes = b.bytes / messages.max(1);
    m.response_bytes = m.request_bytes;
    s.conn = Some(b.r.conn);
}

fn batch_client(s: &mut Side) {
    client(s, 1);
}

fn pipeline_batch_client(s: &mut Side) {
    let depth = effective_depth(s, MESSAGE);
    s.m.facts.insert("depth".into(), depth.to_string());
    client(s, depth);
    s.m.latency_kind = "cycle";
}

fn server(s: &mut Side) {
    let mut out = vec![0; SMALL_MESSAGE];
    serve(s, &mut out, |request, out, seq| {
        items(request, seq);
        let reply = answer(out, request);
        let p = &mut reply[ENVELOPE..];
        let half = p.len() / 2; // an entry is as long as its item
        for e in p[half..].chunks_exact_mut(ITEM) {
            let v = get64(e, 0);
            put64(e, 0, v.wrapping_add(1));
        }
        reply
    });
}

pub const BATCH: Scenario = Scenario {
    name: "batch",
    pattern: Pattern::RequestReply,
    no_transport: false,
    max_message: |_| MESSAGE,
    client: batch_client,
    server: Some(server),
};

pub const PIPELINE_BATCH: Scenario = Scenario {
    name: "pipeline-batch",
    pattern: Pattern::Pipelined,
    no_transport: false,
    max_message: |_| MESSAGE,
    client: pipeline_batch_client,
    server: Some(server),
};
