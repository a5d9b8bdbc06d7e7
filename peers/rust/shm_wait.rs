//! Sleeping and waking at the words of a shared segment (docs/wire-shm.md).
use crate::measure::now;
use crate::rawfd::Wait;
use crate::sys;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::*};

const MAX_SPIN: i64 = 50_000;
const MIN_SPIN: i64 = 1_000;
const YIELD_AFTER: i64 = 100_000;
const MIN_PROBE: u32 = 32;
const MAX_PROBE: u32 = 4096;
const CHUNK: u32 = 32; // between two looks at the clock

fn futex_wake(word: &AtomicU32) {
    unsafe { sys::syscall(sys::SYS_FUTEX, word as *const AtomicU32, sys::FUTEX_WAKE, 1, 0usize, 0usize, 0) };
}

pub fn wake_always(word: &AtomicU32) {
    word.store(0, SeqCst);
    futex_wake(word);
}

#[inline]
pub fn wake(word: &AtomicU32) {
    if word.load(SeqCst) != 0 && word.swap(0, SeqCst) != 0 {
        futex_wake(word);
    }
}

/// Waiter waits for one word of the segment to change.
pub struct Waiter {
    pub mode: Wait,
    pub sleeps: &'static AtomicU32,
    pub gone: &'static AtomicBool, // the peer has closed or died
    limit: i64,                // how long hybrid spins now
    unspun: u32,               // waits since the last try, while limit is 0
    probe: u32,                // waits between two tries
}

impl Waiter {
    pub fn new(mode: Wait, sleeps: &'static AtomicU32, gone: &'static AtomicBool) -> Waiter {
        Waiter { mode, sleeps, gone, limit: MAX_SPIN, unspun: 0, probe: MIN_PROBE }
    }

    /// spin polls until the word is not old, the peer has gone, or limit is over: then it returns false.
    fn spin(&self, word: &AtomicU64, old: u64, limit: i64) -> bool {
        let mut end = 0;
        loop {
            for _ in 0..CHUNK {
                if word.load(Acquire) != old {
                    return true;
                }
                std::hint::spin_loop();
            }
            if self.gone.load(Relaxed) {
                return true;
            }
            let t = now();
            if end == 0 {
                end = t + limit;
            } else if t >= end {
                return false;
            }
        }
    }

    /// budget is how long to spin this time: without success the limit falls to 0, so that two processes on one core do not
    /// keep each other from running; a try now and then finds out when the peer has got a core of its own.
    fn budget(&mut self) -> i64 {
        if self.limit > 0 {
            return self.limit;
        }
        self.unspun += 1;
        if self.unspun < self.probe {
            return 0;
        }
        self.unspun = 0;
        MAX_SPIN
    }

    fn learn(&mut self, limit: i64, ok: bool) {
        if ok && self.limit == 0 {
            self.limit = MAX_SPIN;
            self.probe = MIN_PROBE;
        } else if ok {
            self.limit = (2 * limit).min(MAX_SPIN);
        } else if self.limit == 0 {
            self.probe = (2 * self.probe).min(MAX_PROBE);
        } else {
            self.limit = if limit / 2 < MIN_SPIN { 0 } else { limit / 2 };
        }
    }

    /// change waits until the word is not old, or the peer has gone.
    pub fn change(&mut self, word: &AtomicU64, old: u64) {
        if self.mode == Wait::Spin {
            while !self.spin(word, old, YIELD_AFTER) {
                unsafe { sys::sched_yield() }; // the peer may be waiting for this very core
            }
            return;
        }
        let limit = if self.mode == Wait::Hybrid { self.budget() } else { 0 };
        if limit > 0 {
            let ok = self.spin(word, old, limit);
            self.learn(limit, ok);
            if ok {
                return;
            }
        }
        let nap = sys::timespec { sec: 0, nsec: 500_000_000 };
        loop {
            // The word says 1 before the last look; whoever changes something looks at the word afterwards.
            self.sleeps.store(1, SeqCst);
            if word.load(SeqCst) != old || self.gone.load(SeqCst) {
                self.sleeps.store(0, SeqCst);
                return;
            }
            // Whatever it says: look again.
            unsafe { sys::syscall(sys::SYS_FUTEX, self.sleeps as *const AtomicU32, sys::FUTEX_WAIT, 1, &nap as *const sys::timespec, 0usize, 0) };
        }
    }
}
