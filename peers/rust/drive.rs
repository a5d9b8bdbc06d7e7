//! The loops of a client: warm-up, and one window, as fast as replies come or on a schedule.
use crate::exchange::{FINISH, MARK};
use crate::hist::Hist;
use crate::measure::{messages_due, now, pace, precise_timers, resident_bytes, schedule_at, CpuWindow};
use crate::worker::{Measurement, Params};
use crate::leave;

/// Op is one client's unit of work.
pub trait Op {
    /// run performs one operation, whose first message is stamped with now. It returns how many it counts for, and since when
    /// its latency counts.
    fn run(&mut self, now: i64) -> (i64, i64);
    /// prime and drain are for those that keep requests in flight between operations.
    fn prime(&mut self, _now: i64) {}
    fn drain(&mut self) {}
    /// begin: the window begins.
    fn begin(&mut self) {}
    /// control tells the server where the window begins and ends.
    fn control(&mut self, kind: u32);
}

pub fn latency_kind(p: &Params) -> &'static str {
    if p.rate > 0 {
        "response"
    } else {
        "rtt"
    }
}

struct Loop<'a, T: Op> {
    op: &'a mut T,
    ops: i64,
    items: i64,
    next: i64, // operation of the schedule
    start: i64,
    end: i64,
    spun: i64,
    latency: Hist,
    paced: Option<(Hist, Hist)>, // service, lateness
}

impl<T: Op> Loop<'_, T> {
    fn reset(&mut self) {
        self.ops = 0;
        self.items = 0;
        self.next = 0;
        self.spun = 0;
        self.latency.reset();
        if let Some((service, lateness)) = &mut self.paced {
            service.reset();
            lateness.reset();
        }
    }

    /// closed sends the next operation as soon as the last is done. One reading of the clock ends one and starts the next.
    fn closed(&mut self, from: i64, until: i64, most: i64) {
        let mut t = from;
        while t < until && self.ops < most {
            let (items, since) = self.op.run(t);
            t = now();
            self.latency.record(t - since);
            self.items += items;
            self.ops += 1;
        }
        self.end = t;
    }

    /// paced goes on with the schedule: each operation goes out when it is due, or at once when that has passed.
    fn paced(&mut self, start: i64, rate: i64, until: i64, give_up: i64) {
        let mut done = self.end;
        while done < give_up {
            let intended = schedule_at(start, rate, self.next);
            if intended >= until {
                break;
            }
            let sent = if done < intended { pace(intended, &mut self.spun) } else { done };
            let (items, _) = self.op.run(sent);
            let due = intended.max(done);
            done = now();
            self.latency.record(done - intended);
            if let Some((service, lateness)) = &mut self.paced {
                service.record(done - sent);
                lateness.record(sent - due);
            }
            self.items += items;
            self.ops += 1;
            self.next += 1;
        }
        self.end = done;
    }

    /// warm_up runs the same loop as the window, on one schedule, in slices, until it has run long enough in time and in operations,
    /// or nothing more is due before its latest end.
    fn warm_up(&mut self, p: &Params, m: &mut Measurement) {
        let start = now();
        let last = start + p.warmup_max_ns;
        let mut step = start;
        self.op.prime(start);
        self.end = start;
        loop {
            step += (p.warmup_ns / 4).max(1_000_000);
            let until = step.min(last);
            if p.rate > 0 {
                self.paced(start, p.rate, until, until);
            } else {
                self.closed(now(), until, i64::MAX);
            }
            let t = now();
            if until == last || t - start >= p.warmup_ns && self.ops >= p.warmup_ops {
                m.warmup_ns = t - start;
                m.warmup_ops = self.ops;
                return self.op.drain();
            }
        }
    }

    fn window(&mut self, p: &Params, thirds: &mut [i64; 3], thirds_ns: &mut [i64; 3]) {
        // A whole number of intervals: a paced window ends when the operation after its last would be due.
        let n = messages_due(p);
        self.start = now();
        self.end = self.start;
        if p.rate == 0 {
            self.op.prime(self.start);
        }
        for (i, (third, took)) in thirds.iter_mut().zip(thirds_ns.iter_mut()).enumerate() {
            let (before, i) = (self.ops, i as i64 + 1);
            let (mut began, mut until) = (self.end, 0);
            if p.rate > 0 {
                began = began.max(schedule_at(self.start, p.rate, n * (i - 1) / 3));
                until = schedule_at(self.start, p.rate, n * i / 3);
                // A number of operations: all of them, however late.
                self.paced(self.start, p.rate, until, if p.count > 0 { i64::MAX } else { until });
            } else if p.count > 0 {
                self.closed(self.end, i64::MAX, p.count * i / 3);
            } else {
                self.closed(self.end, self.start + (p.window_ns as i128 * i as i128 / 3) as i64, i64::MAX);
            }
            *third = self.ops - before;
            *took = self.end.max(until) - began;
        }
        if p.rate > 0 {
            let end = pace(schedule_at(self.start, p.rate, n), &mut self.spun);
            self.end = self.end.max(end);
        }
    }
}

/// drive warms up and runs op through one window.
pub fn drive<T: Op>(p: &Params, start: &str, m: &mut Measurement, op: &mut T) {
    let paced = if p.rate > 0 {
        precise_timers();
        Some((Hist::new(), Hist::new()))
    } else {
        None
    };
    let mut l = Loop { op, ops: 0, items: 0, next: 0, start: 0, end: 0, spun: 0, latency: Hist::new(), paced };
    l.warm_up(p, m);
    let mut cpu = CpuWindow::new(start);
    leave::say("measuring");
    l.op.control(MARK);
    l.reset();
    l.op.begin();
    cpu.begin();
    l.window(p, &mut m.thirds, &mut m.thirds_ns);
    cpu.end();
    l.op.drain();
    m.rss = resident_bytes();
    l.op.control(FINISH);
    leave::say("done");
    m.loop_kind = if p.rate > 0 { "paced" } else { "closed" };
    m.latency_kind = latency_kind(p);
    m.hops = 1;
    m.window_ns = l.end - l.start;
    m.ops = l.items;
    m.messages = l.ops;
    m.sent = l.ops;
    m.received = l.ops;
    m.pacer_ns = l.spun;
    m.cpu = cpu.used();
    m.latency = Some(l.latency);
    if let Some((service, lateness)) = l.paced {
        m.service = Some(service);
        m.lateness = Some(lateness);
    }
}
