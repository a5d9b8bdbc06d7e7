// The peer `rust`: a worker is one role of one sample, as docs/worker-protocol.md has it. Standard library only; what that
// lacks of the C library is declared in sys.rs. A failure anywhere ends the process, with its reason in the protocol's form.
mod batch;
mod counter;
mod drive;
mod exchange;
mod hist;
mod leave;
mod measure;
mod pipe;
mod rawfd;
mod registry;
mod shm;
mod shm_ring;
mod shm_wait;
mod snapshot;
mod sys;
mod tcp;
mod uds;
mod worker;

use std::collections::BTreeMap;
use std::io::Error;
use worker::{Conn, Options, Params, Pattern, Scenario, Side};

const SCENARIOS: [&Scenario; 6] = [
    &counter::PING_PONG,
    &batch::BATCH,
    &counter::PIPELINE,
    &batch::PIPELINE_BATCH,
    &snapshot::SNAPSHOT,
    &snapshot::LOOKUP,
];

const TRANSPORTS: [&str; 4] = ["pipe", "shm", "uds", "tcp"];

fn describe() {
    let quoted = |names: Vec<&str>| names.iter().map(|n| format!("\"{}\"", n)).collect::<Vec<_>>().join(",");
    println!(
        "hello 1 {{\"peer\":\"rust\",\"transports\":[{}],\"scenarios\":[{}],\"versions\":{{\"rustc\":\"{}\"}},\"port0\":true}}",
        quoted(TRANSPORTS.to_vec()),
        quoted(SCENARIOS.iter().map(|s| s.name).collect()),
        option_env!("COMPILER_VERSION").unwrap_or("unknown")
    );
}

fn number(key: &str, value: &str) -> i64 {
    value.parse().unwrap_or_else(|_| die!("{}: {:?} is not a number", key, value))
}

fn parse(words: &[String]) -> Params {
    let mut p = Params { depth: 1, warmup_max_ns: 1_000_000_000, ..Params::default() };
    for w in words {
        let (key, value) = w.split_once('=').unwrap_or_else(|| die!("{:?}: want key=value", w));
        match key {
            "role" => p.role = value.into(),
            "scenario" => p.scenario = value.into(),
            "transport" => p.transport = value.into(),
            "dir" => p.dir = value.into(),
            "mode" => p.mode = value.into(),
            "wait" => p.wait = value.into(),
            "nodelay" => p.nagle = value == "off",
            "endpoint" => p.endpoints.push(value.into()),
            "payload_bytes" => p.payload = number(key, value),
            "target_rps" => p.rate = if value == "max" { 0 } else { number(key, value) },
            "warmup_ns" => p.warmup_ns = number(key, value),
            "warmup_ops" => p.warmup_ops = number(key, value),
            "warmup_max_ns" => p.warmup_max_ns = number(key, value),
            "duration_ns" => p.window_ns = number(key, value),
            "count" => p.count = number(key, value),
            "depth" => p.depth = number(key, value),
            "mlock" => p.mlock = value == "on",
            "buffer" => p.buffer = number(key, value) as i32,
            _ => {} // other dimensions do not concern these scenarios
        }
    }
    if p.role.is_empty() || p.scenario.is_empty() || p.transport.is_empty() {
        die!("want role=, scenario= and transport=");
    }
    if p.payload < 0 || p.rate < 0 || p.count < 0 || p.window_ns <= 0 || p.depth < 1 {
        die!("want payload_bytes, target_rps and count of 0 or more, depth of 1 or more, duration_ns above 0");
    }
    p
}

fn ready(endpoint: Option<&str>) {
    match endpoint {
        Some(e) => leave::say(&format!("ready {{\"endpoints\":[\"{}\"]}}", e)),
        None => leave::say("ready {}"),
    }
}

/// connect listens or dials, and says that it is ready.
fn connect(s: &Scenario, p: &Params, listens: bool) -> Box<dyn Conn> {
    let o = Options {
        dir: p.dir.clone(),
        wait: p.wait.clone(),
        max_message: (s.max_message)(p),
        depth: if s.pattern == Pattern::Pipelined { p.depth as usize } else { 1 },
        buffer: p.buffer,
        nagle: p.nagle,
    };
    if listens {
        let l = match p.transport.as_str() {
            "pipe" => pipe::listen(&o),
            "shm" => shm::listen(&o),
            "uds" => uds::listen(&o),
            "tcp" => tcp::listen(&o),
            t => die!("unknown transport {:?}", t),
        };
        ready(Some(l.endpoint()));
        return l.accept(&o);
    }
    if p.endpoints.len() != 1 {
        die!("want one endpoint=, got {}", p.endpoints.len());
    }
    let e = &p.endpoints[0];
    let c = match p.transport.as_str() {
        "pipe" => pipe::dial(&o, e),
        "shm" => shm::dial(&o, e),
        "uds" => uds::dial(&o, e),
        "tcp" => tcp::dial(&o, e),
        t => die!("unknown transport {:?}", t),
    };
    ready(None);
    c
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words == ["worker", "--describe"] {
        return describe();
    }
    if words.len() < 2 || words[0] != "worker" {
        die!("want: worker --describe, or worker key=value…");
    }
    leave::set_role(&words);
    let p = parse(&words[1..]);
    leave::watch_stdin();
    if p.mlock && unsafe { sys::mlockall(sys::MCL_CURRENT | sys::MCL_FUTURE) } != 0 {
        die!("lock memory: {}", Error::last_os_error());
    }
    let s = SCENARIOS.iter().find(|s| s.name == p.scenario).unwrap_or_else(|| die!("unknown scenario {:?}", p.scenario));
    let listens = p.role == "server";
    if !(listens && s.server.is_some() || p.role == "client") {
        die!("scenario {} has no role {:?}", s.name, p.role);
    }
    let conn = if s.no_transport {
        ready(None);
        None
    } else {
        Some(connect(s, &p, listens))
    };
    let start = leave::await_start();
    let mut side = Side { conn, p, start, m: worker::Measurement::default() };
    match s.server {
        Some(server) if listens => server(&mut side),
        _ => (s.client)(&mut side),
    }
    let mut facts: BTreeMap<String, String> = std::mem::take(&mut side.m.facts);
    if let Some(c) = &side.conn {
        facts.extend(c.facts().into_iter().map(|(k, v)| (k.to_string(), v)));
    }
    side.m.facts = facts;
    leave::say(&side.m.json(&side.p.role));
    leave::await_stop();
}
