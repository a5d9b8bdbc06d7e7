//! The clock, pacing, CPU clocks and memory.
use crate::worker::Params;
use crate::{die, die_os, sys};

fn read_clock(clock: i32) -> Option<i64> {
    let mut t = sys::timespec { sec: 0, nsec: 0 };
    if unsafe { sys::clock_gettime(clock, &mut t) } != 0 {
        return None;
    }
    Some(t.sec * 1_000_000_000 + t.nsec as i64)
}

/// now is CLOCK_MONOTONIC, without a system call on Linux.
#[inline]
pub fn now() -> i64 {
    let mut t = sys::timespec { sec: 0, nsec: 0 };
    unsafe { sys::clock_gettime(sys::CLOCK_MONOTONIC, &mut t) };
    t.sec * 1_000_000_000 + t.nsec as i64
}

const LEAD: i64 = 60_000; // sleeping ends so long before a deadline
const MAX_STEP: i64 = 5_000; // a longer one means that the thread did not run

/// pace waits until the deadline: it sleeps until shortly before, then spins. It adds the time spun to spun.
pub fn pace(deadline: i64, spun: &mut i64) -> i64 {
    let mut t = now();
    while deadline - t > LEAD {
        let until = deadline - LEAD;
        let ts = sys::timespec { sec: until / 1_000_000_000, nsec: (until % 1_000_000_000) as _ };
        unsafe { sys::clock_nanosleep(sys::CLOCK_MONOTONIC, sys::TIMER_ABSTIME, &ts, std::ptr::null_mut()) };
        t = now();
    }
    while t < deadline {
        let next = now();
        if next - t <= MAX_STEP {
            *spun += next - t;
        }
        t = next;
    }
    t
}

/// schedule_at is when operation i at a constant rate is due. Whole seconds and the rest apart, so that nothing overflows.
pub fn schedule_at(start: i64, rate: i64, i: i64) -> i64 {
    start + i / rate * 1_000_000_000 + i % rate * 1_000_000_000 / rate
}

/// messages_due is how many messages a window of a schedule has.
pub fn messages_due(p: &Params) -> i64 {
    if p.count > 0 {
        return p.count;
    }
    (p.window_ns / 1_000_000_000 * p.rate + p.window_ns % 1_000_000_000 * p.rate / 1_000_000_000).max(1)
}

pub fn precise_timers() {
    unsafe { sys::prctl(sys::PR_SET_TIMERSLACK, 1 as std::os::raw::c_ulong) };
}

pub fn resident_bytes() -> i64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    text.split(' ').nth(1).and_then(|p| p.parse::<i64>().ok()).unwrap_or(0) * 4096
}

/// CpuWindow reads the CPU clocks of all roles at both ends of a window.
pub struct CpuWindow {
    clocks: Vec<(String, i32)>,
    from: Vec<i64>,
    till: Vec<i64>,
}

impl CpuWindow {
    /// new finds the clocks of the processes that the JSON of `start` names.
    pub fn new(start: &str) -> CpuWindow {
        let mut clocks = Vec::new();
        for role in ["client", "server", "broker", "publisher", "subscriber"] {
            let key = format!("\"{}\":[", role);
            let list = match start.find(&key) {
                Some(at) => &start[at + key.len()..],
                None => continue,
            };
            for pid in list.split(']').next().unwrap_or("").split(',') {
                let pid: i32 = pid.trim().parse().unwrap_or_else(|_| die!("start: {:?} is not a process id", pid));
                let mut clock = 0;
                if unsafe { sys::clock_getcpuclockid(pid, &mut clock) } != 0 {
                    die!("no CPU clock of process {}, the {}", pid, role);
                }
                clocks.push((role.to_string(), clock));
            }
        }
        let n = clocks.len();
        CpuWindow { clocks, from: vec![0; n], till: vec![0; n] }
    }

    fn read(clocks: &[(String, i32)], into: &mut [i64]) {
        for (c, v) in clocks.iter().zip(into) {
            *v = read_clock(c.1).unwrap_or_else(|| die_os!("CPU clock of the {} (has it ended?)", c.0));
        }
    }

    pub fn begin(&mut self) {
        CpuWindow::read(&self.clocks, &mut self.from);
    }

    pub fn end(&mut self) {
        CpuWindow::read(&self.clocks, &mut self.till);
    }

    /// used is the CPU time of each role; processes of one role are added up.
    pub fn used(&self) -> Vec<(String, i64)> {
        let mut out: Vec<(String, i64)> = Vec::new();
        for (i, (role, _)) in self.clocks.iter().enumerate() {
            let ns = self.till[i] - self.from[i];
            match out.last_mut() {
                Some(last) if last.0 == *role => last.1 += ns,
                _ => out.push((role.clone(), ns)),
            }
        }
        out
    }
}
