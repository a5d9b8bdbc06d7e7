//! Failing, leaving, and what the runner says meanwhile.
use crate::sys;
use std::ffi::CString;
use std::io::{BufRead, Write};
use std::sync::{Condvar, Mutex};

const EXIT_FAILED: i32 = 1;
const EXIT_ORPHAN: i32 = 3;

struct State {
    role: String,
    paths: Vec<CString>, // that must be gone when this process ends
    start: Option<String>,
    stopped: bool,
}

static STATE: Mutex<State> = Mutex::new(State { role: String::new(), paths: Vec::new(), start: None, stopped: false });
static CHANGED: Condvar = Condvar::new();

fn state() -> std::sync::MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(|e| e.into_inner())
}

/// die! ends the process with a reason, after removing what it made.
#[macro_export]
macro_rules! die {
    ($($arg:tt)*) => { $crate::leave::fail(format!($($arg)*)) };
}

/// die_os! is die! with the text of errno behind.
#[macro_export]
macro_rules! die_os {
    ($($arg:tt)*) => {{ let why = $crate::sys::os_error(); $crate::leave::fail(format!("{}: {}", format!($($arg)*), why)) }};
}

fn unlink_all(s: &State) {
    for p in &s.paths {
        unsafe { sys::unlink(p.as_ptr()) };
    }
}

/// fail prints the reason as one JSON string. The lock is kept: whoever comes second waits for the end.
pub fn fail(reason: String) -> ! {
    let s = state();
    unlink_all(&s);
    let role = if s.role.is_empty() { "worker" } else { &s.role };
    let mut text = String::new();
    for c in format!("{}: {}", role, reason).chars() {
        match c {
            '"' | '\\' => {
                text.push('\\');
                text.push(c);
            }
            c if c < ' ' => text.push('?'),
            c => text.push(c),
        }
    }
    say(&format!("error {{\"reason\":\"{}\"}}", text));
    unsafe { sys::_exit(EXIT_FAILED) }
}

/// say prints one line. A runner that is gone shows at the end of standard input.
pub fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{}", line);
    let _ = out.flush();
}

pub fn set_role(words: &[String]) {
    if let Some(r) = words.iter().find_map(|w| w.strip_prefix("role=")) {
        state().role = r.to_string();
    }
}

pub fn remember_path(path: &str) {
    state().paths.push(c_path(path));
}

/// forget_path unlinks it now.
pub fn forget_path(path: &str) {
    let path = c_path(path);
    let mut s = state();
    unsafe { sys::unlink(path.as_ptr()) };
    s.paths.retain(|p| *p != path);
}

pub fn c_path(path: &str) -> CString {
    CString::new(path).unwrap_or_else(|_| die!("a path with a NUL"))
}

/// new_path is a new name in dir with this ending, short enough for a socket.
pub fn new_path(dir: &str, ending: &str) -> String {
    let real = std::fs::canonicalize(dir).unwrap_or_else(|e| die!("folder for endpoints {}: {}", dir, e));
    let path = format!("{}/r{}-{:x}{}", real.display(), std::process::id(), crate::measure::now() & 0xffffff, ending);
    if path.len() > 100 {
        die!("the path {:?} is longer than the 100 B that a socket's may have", path);
    }
    path
}

fn leave() -> ! {
    let s = state();
    unlink_all(&s);
    unsafe { sys::_exit(EXIT_ORPHAN) }
}

extern "C" fn terminated(_: i32) {
    // Another thread may hold the lock: then its paths are the runner's to remove, with their folder.
    if let Ok(s) = STATE.try_lock() {
        unlink_all(&s);
    }
    unsafe { sys::_exit(EXIT_ORPHAN) }
}

/// watch_stdin starts the thread that reads what the runner says; when the runner is gone it ends the process.
pub fn watch_stdin() {
    unsafe {
        sys::signal(sys::SIGPIPE, sys::SIG_IGN);
        sys::signal(sys::SIGTERM, terminated as extern "C" fn(i32) as usize);
    }
    let watch = || {
        for line in std::io::stdin().lock().lines() {
            let line = line.unwrap_or_default();
            let mut s = state();
            if let Some(json) = line.strip_prefix("start ") {
                s.start = Some(json.to_string());
            }
            s.stopped = line == "stop";
            CHANGED.notify_all();
            if s.stopped {
                return;
            }
        }
        leave();
    };
    if std::thread::Builder::new().spawn(watch).is_err() {
        die!("no thread to watch standard input");
    }
}

/// await_start returns the JSON of the line `start`.
pub fn await_start() -> String {
    let mut s = state();
    while s.start.is_none() && !s.stopped {
        s = CHANGED.wait(s).unwrap_or_else(|e| e.into_inner());
    }
    let start = s.start.take();
    drop(s);
    start.unwrap_or_else(|| die!("stopped before it was started"))
}

pub fn await_stop() {
    let mut s = state();
    while !s.stopped {
        s = CHANGED.wait(s).unwrap_or_else(|e| e.into_inner());
    }
}
