//! What the files of this worker share: what was asked for, what was found, and what one side of a connection can do.
//! Times are ns of CLOCK_MONOTONIC, sizes are bytes.
use crate::hist::Hist;
use std::collections::BTreeMap;
use std::fmt::Write;

#[derive(Default)]
pub struct Params {
    pub role: String,
    pub scenario: String,
    pub transport: String,
    pub dir: String,
    pub mode: String,
    pub wait: String, // empty: the transport's first
    pub endpoints: Vec<String>,
    pub payload: i64,
    pub rate: i64, // 0: max
    pub warmup_ns: i64,
    pub warmup_ops: i64,
    pub warmup_max_ns: i64,
    pub window_ns: i64,
    pub count: i64,
    pub depth: i64,
    pub buffer: i32,
    pub nagle: bool,
    pub mlock: bool,
}

#[derive(PartialEq, Clone, Copy)]
pub enum Pattern {
    RequestReply,
    Pipelined,
}

pub struct Options {
    pub dir: String,
    pub wait: String,
    pub max_message: usize,
    pub depth: usize,
    pub buffer: i32, // of the kernel in each direction; 0: its default
    pub nagle: bool,
}

/// Listener waits for one peer. When accept returns, nothing is left of it in the file system.
pub trait Listener {
    fn endpoint(&self) -> &str;
    fn accept(self: Box<Self>, o: &Options) -> Box<dyn Conn>;
}

/// Conn carries messages in order, each whole or not at all.
pub trait Conn {
    fn send(&mut self, msg: &[u8]);
    /// recv returns the next message, valid and writable until the next recv, or None at the peer's end.
    fn recv(&mut self) -> Option<&mut [u8]>;
    fn in_flight(&mut self, size: usize) -> usize;
    fn facts(&self) -> Vec<(&'static str, String)>;
}

pub struct Scenario {
    pub name: &'static str,
    pub pattern: Pattern,
    pub no_transport: bool,
    pub max_message: fn(&Params) -> usize,
    pub client: fn(&mut Side),
    pub server: Option<fn(&mut Side)>,
}

/// Side is what one process of a cell works with.
pub struct Side {
    pub conn: Option<Box<dyn Conn>>,
    pub p: Params,
    pub start: String, // JSON
    pub m: Measurement,
}

#[derive(Default)]
pub struct Measurement {
    pub loop_kind: &'static str,
    pub latency_kind: &'static str,
    pub warmup_ns: i64,
    pub warmup_ops: i64,
    pub window_ns: i64,
    pub ops: i64,
    pub messages: i64,
    pub payload_bytes: i64,
    pub sent: i64,
    pub received: i64,
    pub latency: Option<Hist>,
    pub service: Option<Hist>,
    pub lateness: Option<Hist>,
    pub thirds: [i64; 3],
    pub thirds_ns: [i64; 3],
    pub cpu: Vec<(String, i64)>, // by role
    pub pacer_ns: i64,
    pub request_bytes: i64,
    pub response_bytes: i64,
    pub hops: i64,
    pub rss: i64,
    pub facts: BTreeMap<String, String>,
}

impl Measurement {
    /// json is the line of the result.
    pub fn json(&self, role: &str) -> String {
        let mut s = format!("result {{\"rss_bytes\":{{\"{}\":{}}}", role, self.rss);
        for (name, v) in [("loop", self.loop_kind), ("latency", self.latency_kind)] {
            if !v.is_empty() {
                write!(s, ",\"{}\":\"{}\"", name, v).unwrap();
            }
        }
        for (name, v) in [
            ("warmup_ns", self.warmup_ns),
            ("warmup_ops", self.warmup_ops),
            ("window_ns", self.window_ns),
            ("ops", self.ops),
            ("messages", self.messages),
            ("payload_bytes", self.payload_bytes),
            ("sent", self.sent),
            ("received", self.received),
            ("pacer_ns", self.pacer_ns),
            ("request_bytes", self.request_bytes),
            ("response_bytes", self.response_bytes),
            ("hops", self.hops),
        ] {
            if v != 0 {
                write!(s, ",\"{}\":{}", name, v).unwrap();
            }
        }
        for (name, h) in [("latency_hist", &self.latency), ("service_hist", &self.service), ("lateness_hist", &self.lateness)] {
            if let Some(h) = h {
                write!(s, ",\"{}\":{}", name, h.json()).unwrap();
            }
        }
        if !self.loop_kind.is_empty() {
            write!(s, ",\"thirds\":[{},{},{}]", self.thirds[0], self.thirds[1], self.thirds[2]).unwrap();
            write!(s, ",\"thirds_ns\":[{},{},{}]", self.thirds_ns[0], self.thirds_ns[1], self.thirds_ns[2]).unwrap();
        }
        if !self.cpu.is_empty() {
            let list: Vec<String> = self.cpu.iter().map(|(r, ns)| format!("\"{}\":{}", r, ns)).collect();
            write!(s, ",\"cpu_ns\":{{{}}}", list.join(",")).unwrap();
        }
        let facts: Vec<String> = self.facts.iter().map(|(k, v)| format!("\"{}\":\"{}\"", k, v)).collect();
        write!(s, ",\"facts\":{{{}}}}}", facts.join(",")).unwrap();
        s
    }
}
