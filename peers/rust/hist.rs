//! Histograms of durations: 1 ns to 60 s. Values below 2048 ns have a bucket each; above, each power of two has 1024.
use std::fmt::Write;

const HALF: usize = 1024;
const BUCKETS: usize = 28 * HALF;
const HIGHEST: i64 = 60_000_000_000;

pub struct Hist {
    min: i64,
    max: i64,
    sum: i64,
    count: i64,
    clamped: i64,
    buckets: Box<[i64]>,
}

impl Hist {
    pub fn new() -> Hist {
        let mut h = Hist { min: 0, max: 0, sum: 0, count: 0, clamped: 0, buckets: vec![1; BUCKETS].into_boxed_slice() };
        h.reset(); // after a first write, so that its pages are there
        h
    }

    pub fn reset(&mut self) {
        self.min = i64::MAX;
        self.max = i64::MIN;
        self.sum = 0;
        self.count = 0;
        self.clamped = 0;
        self.buckets.fill(0);
    }

    #[inline]
    pub fn record(&mut self, ns: i64) {
        self.min = self.min.min(ns);
        self.max = self.max.max(ns);
        self.sum += ns;
        self.count += 1;
        let mut v = ns;
        if !(1..=HIGHEST).contains(&v) {
            self.clamped += 1;
            v = v.clamp(1, HIGHEST);
        }
        // The 11 highest bits of v.
        let shift = 53usize.saturating_sub(v.leading_zeros() as usize);
        self.buckets[shift * HALF + (v >> shift) as usize] += 1;
    }

    /// json is {"min":…,"values":[[ns,count],…]}, or null when it is empty.
    pub fn json(&self) -> String {
        if self.count == 0 {
            return "null".to_string();
        }
        let mut s = format!("{{\"min\":{},\"max\":{},\"sum\":{}", self.min, self.max, self.sum);
        if self.clamped > 0 {
            write!(s, ",\"clamped\":{}", self.clamped).unwrap();
        }
        s.push_str(",\"values\":[");
        let mut comma = "";
        for (i, &n) in self.buckets.iter().enumerate().filter(|(_, &n)| n > 0) {
            // Bucket i holds (i - shift*HALF) << shift and what follows; the middle of it stands for all.
            let shift = if i < 2 * HALF { 0 } else { i / HALF - 1 };
            let middle = (((i - shift * HALF) << shift) + (1 << shift) / 2) as i64;
            write!(s, "{}[{},{}]", comma, middle.min(HIGHEST), n).unwrap();
            comma = ",";
        }
        s.push_str("]}");
        s
    }
}
