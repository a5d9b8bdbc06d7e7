//! The rings of a shared segment: sending, receiving, sleeping and waking (docs/wire-shm.md).
use crate::measure::now;
use crate::rawfd::Wait;
use crate::{die, sys};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::*};

pub const SLOT: u64 = 128;
const INLINE: u64 = 120;
const LINE: u64 = 64;
const SLOTS_AT: u64 = 8192;
const CONTROL_AT: u64 = 4096;
const CONTROL: u64 = 512;
const CONSUMED_SLOTS: u64 = 128;
const CONSUMED_BYTES: u64 = 136;
const SENDER_SLEEPS: u64 = 256;
const TAG_INLINE: u64 = 1;
const TAG_AREA: u64 = 2;
const LENGTH_BITS: u32 = 24;
const AHEAD: u64 = 6;

const MAX_SPIN: i64 = 50_000;
const MIN_SPIN: i64 = 1_000;
const YIELD_AFTER: i64 = 100_000;
const MIN_PROBE: u32 = 32;
const MAX_PROBE: u32 = 4096;
const FIRST_POLLS: u32 = 32; // before a receiver gives back
const CHUNK: u32 = 32; // between two looks at the clock

#[derive(Clone, Copy)]
pub struct Geometry {
    pub slots: u64,
    pub area: u64,
    pub max_message: u64,
}

pub fn round64(n: u64) -> u64 {
    (n + 63) & !63
}

impl Geometry {
    pub fn size(&self) -> u64 {
        SLOTS_AT + 2 * self.slots * SLOT + 2 * self.area
    }
    fn lag(&self) -> u64 {
        self.slots / 8
    }
    fn lag_bytes(&self) -> u64 {
        self.area / 16
    }
    /// at is where a message of n bytes begins if the one before ended at pos: one that does not fit before the end of the
    /// area begins at its start.
    fn at(&self, pos: u64, n: u64) -> u64 {
        let offset = pos & (self.area - 1);
        if offset + n > self.area {
            pos + self.area - offset
        } else {
            pos
        }
    }
    pub fn in_flight(&self, size: u64) -> usize {
        let mut n = self.slots - self.lag() - 1;
        if size > INLINE {
            let each = round64(size);
            n = n.min(self.area.saturating_sub(self.lag_bytes() + round64(self.max_message) + each) / each);
        }
        n.max(1) as usize
    }
}

#[inline]
unsafe fn word64(p: *mut u8) -> &'static AtomicU64 {
    &*(p as *const AtomicU64)
}

#[inline]
unsafe fn word32(p: *mut u8) -> &'static AtomicU32 {
    &*(p as *const AtomicU32)
}

/// prefetch_write asks for the line of p, to be written soon.
#[inline]
fn prefetch_write(_p: *const u8) {
    #[cfg(target_arch = "x86_64")]
    unsafe {
        std::arch::asm!("prefetchw [{}]", in(reg) _p, options(nostack, preserves_flags, readonly));
    }
}

fn futex_wake(word: &AtomicU32) {
    unsafe { sys::syscall(sys::SYS_FUTEX, word as *const AtomicU32, sys::FUTEX_WAKE, 1, 0usize, 0usize, 0) };
}

pub fn wake_always(word: &AtomicU32) {
    word.store(0, SeqCst);
    futex_wake(word);
}

#[inline]
fn wake(word: &AtomicU32) {
    if word.load(SeqCst) != 0 && word.swap(0, SeqCst) != 0 {
        futex_wake(word);
    }
}

/// Waiter waits for one word of the segment to change.
struct Waiter {
    mode: Wait,
    sleeps: &'static AtomicU32,
    gone: &'static AtomicBool, // the peer has closed or died
    limit: i64,                // how long hybrid spins now
    unspun: u32,               // waits since the last try, while limit is 0
    probe: u32,                // waits between two tries
}

impl Waiter {
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
    fn change(&mut self, word: &AtomicU64, old: u64) {
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

/// Ends are the two rings of one side.
pub struct Sender {
    g: Geometry,
    slots: *mut u8,
    area: *mut u8,
    next: u64,
    full: u64,  // the first message without a slot, as known
    pos: u64,   // in the area
    freed: u64, // given back of the area, as known
    consumed: &'static AtomicU64,
    consumed_bytes: &'static AtomicU64,
    peer_sleeps: &'static AtomicU32,
    wait: Waiter,
}

pub struct Receiver {
    g: Geometry,
    slots: *mut u8,
    area: *mut u8,
    next: u64,
    released: u64,
    release_at: u64,
    pos: u64,
    released_pos: u64,
    consumed: &'static AtomicU64,
    consumed_bytes: &'static AtomicU64,
    peer_sleeps: &'static AtomicU32,
    wait: Waiter,
}

/// ends makes the rings of a side that sends in that direction. The segment stays mapped until the process ends.
///
/// # Safety
/// base points to a mapped segment of that geometry.
pub unsafe fn ends(base: *mut u8, g: Geometry, direction: u64, mode: Wait, gone: &'static AtomicBool) -> (Sender, Receiver) {
    let part = |d: u64| (base.add((CONTROL_AT + d * CONTROL) as usize), base.add((SLOTS_AT + d * g.slots * SLOT) as usize),
        base.add((SLOTS_AT + 2 * g.slots * SLOT + d * g.area) as usize));
    let waiter = |sleeps| Waiter { mode, sleeps, gone, limit: MAX_SPIN, unspun: 0, probe: MIN_PROBE };
    let (control, slots, area) = part(direction);
    let tx = Sender {
        g, slots, area, next: 0, full: g.slots, pos: 0, freed: 0,
        consumed: word64(control.add(CONSUMED_SLOTS as usize)),
        consumed_bytes: word64(control.add(CONSUMED_BYTES as usize)),
        peer_sleeps: word32(control),
        wait: waiter(word32(control.add(SENDER_SLEEPS as usize))),
    };
    let (control, slots, area) = part(1 - direction);
    let rx = Receiver {
        g, slots, area, next: 0, released: 0, release_at: g.lag(), pos: 0, released_pos: 0,
        consumed: word64(control.add(CONSUMED_SLOTS as usize)),
        consumed_bytes: word64(control.add(CONSUMED_BYTES as usize)),
        peer_sleeps: word32(control.add(SENDER_SLEEPS as usize)),
        wait: waiter(word32(control)),
    };
    (tx, rx)
}

/// sleepers are the words that this side sleeps at.
pub fn sleepers(tx: &Sender, rx: &Receiver) -> [&'static AtomicU32; 2] {
    [tx.wait.sleeps, rx.wait.sleeps]
}

impl Sender {
    /// room waits until there is a slot, and the area is free up to end.
    #[cold]
    fn room(&mut self, end: u64) {
        loop {
            if self.wait.gone.load(Relaxed) {
                die!("shm: send: the peer has gone");
            }
            // Slots first: the receiver gives back bytes before slots.
            let used = self.consumed.load(Acquire);
            let freed = self.consumed_bytes.load(Acquire);
            if self.next.wrapping_sub(used) > self.g.slots || self.pos.wrapping_sub(freed) > self.g.area || freed.wrapping_sub(self.freed) > self.g.area {
                die!("shm: the segment is corrupt: receiver at slot {}", used);
            }
            self.full = used + self.g.slots;
            self.freed = freed;
            if self.next != self.full && end - self.freed <= self.g.area {
                return;
            }
            let consumed = self.consumed;
            self.wait.change(consumed, used);
        }
    }

    pub fn send(&mut self, msg: &[u8]) {
        let (i, n) = (self.next, msg.len() as u64);
        let tag = if n > INLINE { TAG_AREA } else { TAG_INLINE };
        let gone = self.wait.gone.load(Relaxed);
        unsafe {
            let slot = self.slots.add(((i & (self.g.slots - 1)) * SLOT) as usize);
            if tag == TAG_INLINE {
                if gone || i == self.full {
                    self.room(self.pos);
                }
                std::ptr::copy_nonoverlapping(msg.as_ptr(), slot.add(8), msg.len());
            } else {
                if n > self.g.max_message {
                    die!("shm: a message of {} B, at most {} B", n, self.g.max_message);
                }
                let from = self.g.at(self.pos, n);
                let end = from + round64(n);
                if gone || i == self.full || end - self.freed > self.g.area {
                    self.room(end);
                }
                std::ptr::copy_nonoverlapping(msg.as_ptr(), self.area.add((from & (self.g.area - 1)) as usize), msg.len());
                (slot.add(8) as *mut u64).write(from);
                self.pos = end;
            }
            word64(slot).store((i + 1) << 32 | tag << LENGTH_BITS | n, SeqCst);
            self.next = i + 1;
            wake(self.peer_sleeps);
            let ahead = self.slots.add((((self.next + AHEAD) & (self.g.slots - 1)) * SLOT) as usize);
            prefetch_write(ahead);
            if n > LINE - 8 && n <= INLINE {
                prefetch_write(ahead.add(LINE as usize));
            }
        }
    }
}

impl Receiver {
    fn release(&mut self) {
        if self.pos != self.released_pos {
            self.consumed_bytes.store(self.pos, SeqCst);
            self.released_pos = self.pos;
        }
        self.consumed.store(self.next, SeqCst);
        self.released = self.next;
        self.release_at = self.next + self.g.lag();
        wake(self.peer_sleeps);
    }

    /// fresh: the word is that of the next message. stale: it is what may stand there before.
    #[inline]
    fn fresh(&self, w: u64) -> bool {
        (w >> 32) as u32 == (self.next as u32).wrapping_add(1) && w >> LENGTH_BITS & 0xff != 0
    }

    fn stale(&self, w: u64) -> bool {
        if self.next < self.g.slots {
            return w == 0;
        }
        (w >> 32) as u32 == (self.next - self.g.slots + 1) as u32
    }

    /// wait waits for the next message's word; None at the peer's end. What was received is given back first: the sender may
    /// be waiting for that.
    fn wait(&mut self, word: &AtomicU64) -> Option<u64> {
        if self.wait.mode != Wait::Block {
            for _ in 0..FIRST_POLLS {
                let w = word.load(Acquire);
                if self.fresh(w) {
                    return Some(w);
                }
                std::hint::spin_loop();
            }
        }
        if self.next != self.released {
            self.release();
        }
        loop {
            let gone = self.wait.gone.load(SeqCst);
            let w = word.load(SeqCst); // after the look at gone: what the peer sent before is there by now
            if self.fresh(w) {
                return Some(w);
            }
            if !self.stale(w) {
                die!("shm: message {}: the segment is corrupt: header word {:x}", self.next, w);
            }
            if gone {
                return None;
            }
            self.wait.change(word, w);
        }
    }

    pub fn recv(&mut self) -> Option<&mut [u8]> {
        if self.next >= self.release_at {
            self.release();
        }
        unsafe {
            let slot = self.slots.add(((self.next & (self.g.slots - 1)) * SLOT) as usize);
            let word = word64(slot);
            let mut w = word.load(Acquire);
            if !self.fresh(w) {
                w = self.wait(word)?;
            }
            let (n, tag) = (w & ((1 << LENGTH_BITS) - 1), w >> LENGTH_BITS & 0xff);
            if tag == TAG_INLINE && n <= INLINE {
                self.next += 1;
                return Some(std::slice::from_raw_parts_mut(slot.add(8), n as usize));
            }
            let from = self.g.at(self.pos, n);
            if tag != TAG_AREA || n <= INLINE || n > self.g.max_message || (slot.add(8) as *const u64).read() != from {
                die!("shm: message {}: the segment is corrupt: header word {:x}", self.next, w);
            }
            self.next += 1;
            self.pos = from + round64(n);
            if self.pos - self.released_pos > self.g.lag_bytes() {
                self.release_at = self.next;
            }
            Some(std::slice::from_raw_parts_mut(self.area.add((from & (self.g.area - 1)) as usize), n as usize))
        }
    }
}
