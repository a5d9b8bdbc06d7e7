//! snapshot refreshes a local cache of 16 items from the server; lookup gets items from that cache, without a transport.
use crate::die;
use crate::drive::{drive, Op};
use crate::exchange::*;
use crate::registry::{bench_items, encode, Cache, Item, BENCH_ITEMS, BENCH_SIZE};
use crate::worker::{Pattern, Scenario, Side};

const ASK_SNAPSHOT: u32 = 1;
const REQUEST_SIZE: usize = ENVELOPE + 4;
const REPLY_SIZE: usize = ENVELOPE + BENCH_SIZE;
/// A reading of the clock costs as much as several lookups.
const LOOKUP_BLOCK: usize = 1024;

struct Refresher {
    r: Requester,
    request: [u8; REQUEST_SIZE],
    items: Vec<Item>,
    cache: Cache,
    changes: u64,
}

impl Op for Refresher {
    fn run(&mut self, now: i64) -> (i64, i64) {
        self.r.send(&mut self.request, now, REQUEST);
        let seq = self.r.replied + 1;
        let reply = self.r.receive(REPLY);
        if let Err(why) = self.cache.refresh(&reply[ENVELOPE..]) {
            die!("reply {}: {}", seq, why);
        }
        // The cache compared the items with those before: only a change has to be checked again.
        let changes = self.cache.changes();
        if changes != self.changes {
            if !self.cache.equal(&self.items) {
                die!("reply {}: the items are not those of the registry", seq);
            }
            self.changes = changes;
        }
        (1, now)
    }
    fn control(&mut self, kind: u32) {
        self.r.control(kind);
    }
}

fn snapshot_client(s: &mut Side) {
    let r = Requester::new(s.conn.take().unwrap());
    let mut x = Refresher { r, request: [0; REQUEST_SIZE], items: bench_items(), cache: Cache::new(), changes: 0 };
    put32(&mut x.request, ENVELOPE, ASK_SNAPSHOT);
    drive(&s.p, &s.start, &mut s.m, &mut x);
    s.m.payload_bytes = s.m.ops * BENCH_SIZE as i64;
    s.m.request_bytes = REQUEST_SIZE as i64;
    s.m.response_bytes = REPLY_SIZE as i64;
    s.conn = Some(x.r.conn);
}

fn snapshot_server(s: &mut Side) {
    let items = bench_items();
    let mut generation = 0;
    let mut out = vec![0; REPLY_SIZE];
    serve(s, &mut out, |request, out, seq| {
        if request.len() != REQUEST_SIZE || get32(request, ENVELOPE) != ASK_SNAPSHOT {
            die!("request {} does not ask for a snapshot", seq);
        }
        generation += 1;
        out[..ENVELOPE].copy_from_slice(&request[..ENVELOPE]);
        let n = encode(&mut out[ENVELOPE..], &items, generation);
        put32(out, 20, n as u32);
        &mut out[..ENVELOPE + n]
    });
}

struct Looker {
    items: Vec<Item>,
    cache: Cache,
}

impl Op for Looker {
    /// run is a block of lookups, each of the next item; each must be found and be the right one.
    fn run(&mut self, now: i64) -> (i64, i64) {
        for i in 0..LOOKUP_BLOCK {
            let want = &self.items[i & (BENCH_ITEMS - 1)];
            match self.cache.get(want.hash, &want.name) {
                Some(got) if got.enabled == want.enabled && got.path.len() == want.path.len() => {}
                _ => die!("a lookup did not find its item"),
            }
        }
        (LOOKUP_BLOCK as i64, now)
    }
    fn control(&mut self, _kind: u32) {}
}

fn lookup_client(s: &mut Side) {
    let mut x = Looker { items: bench_items(), cache: Cache::new() };
    let mut encoded = [0; BENCH_SIZE];
    let n = encode(&mut encoded, &x.items, 1);
    if let Err(why) = x.cache.refresh(&encoded[..n]) {
        die!("{}", why);
    }
    drive(&s.p, &s.start, &mut s.m, &mut x);
    s.m.latency = None;
    s.m.latency_kind = "";
    s.m.hops = 0;
    s.m.messages = 0;
    s.m.sent = 0;
    s.m.received = 0;
}

pub const SNAPSHOT: Scenario = Scenario {
    name: "snapshot",
    pattern: Pattern::RequestReply,
    no_transport: false,
    max_message: |_| REPLY_SIZE,
    client: snapshot_client,
    server: Some(snapshot_server),
};

pub const LOOKUP: Scenario = Scenario {
    name: "lookup",
    pattern: Pattern::RequestReply,
    no_transport: true,
    max_message: |_| 0,
    client: lookup_client,
    server: None,
};
