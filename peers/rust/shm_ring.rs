//! The rings of a shared segment: sending and receiving (docs/wire-shm.md).
use crate::die;
use crate::rawfd::Wait;
use crate::shm_wait::{wake, Waiter};
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

const FIRST_POLLS: u32 = 32; // before a receiver gives back

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

/// Sender is the end of the ring that this side writes to.
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

/// Receiver is the end of the ring that this side reads from.
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
    let waiter = |sleeps| Waiter::new(mode, sleeps, gone);
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
