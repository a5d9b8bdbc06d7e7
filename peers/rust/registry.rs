//! The registry of the snapshot scenario (docs/wire-snapshot.md): its encoding and the local cache.
use crate::exchange::{get32, get64, put32, put64};
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

pub const BENCH_ITEMS: usize = 16;
pub const BENCH_SIZE: usize = 1301;

const HEADER: usize = 24;
const ENTRY: usize = 8;
const FIXED: usize = 32;
const VERSION: u32 = 1;
const SYSTEMD: u32 = 1;
const MAX_ITEMS: usize = 4096;
const MAX_STRING: usize = 4095;

fn aligned(n: usize) -> usize {
    (n + 7) & !7
}

#[derive(Clone, PartialEq, Default)]
pub struct Item {
    pub hash: u32,
    pub options: u32,
    pub enabled: u32,
    pub name: Box<[u8]>,
    pub path: Box<[u8]>,
}

/// bench_items are the 16 items that the scenario sends.
pub fn bench_items() -> Vec<Item> {
    (0..BENCH_ITEMS as u32)
        .map(|i| Item {
            hash: 1000 + i,
            options: 0,
            enabled: i % 2,
            name: format!("cgroup-{}", i).into_bytes().into_boxed_slice(),
            path: format!("/sys/fs/cgroup/bench/cg-{}", i).into_bytes().into_boxed_slice(),
        })
        .collect()
}

/// encode writes the message of a generation to b, which has room for it, and returns its size.
pub fn encode(b: &mut [u8], items: &[Item], generation: u64) -> usize {
    put32(b, 0, VERSION);
    put32(b, 4, items.len() as u32);
    put32(b, 8, SYSTEMD);
    put32(b, 12, 0);
    put64(b, 16, generation);
    let (head, area) = b.split_at_mut(HEADER + ENTRY * items.len());
    let mut at = 0;
    for (i, it) in items.iter().enumerate() {
        area[at..aligned(at)].fill(0);
        at = aligned(at);
        let path = FIXED + it.name.len() + 1;
        let size = path + it.path.len() + 1;
        let p = &mut area[at..at + size];
        put32(p, 0, VERSION);
        put32(p, 4, it.hash);
        put32(p, 8, it.options);
        put32(p, 12, it.enabled);
        put32(p, 16, FIXED as u32);
        put32(p, 20, it.name.len() as u32);
        put32(p, 24, path as u32);
        put32(p, 28, it.path.len() as u32);
        p[FIXED..path - 1].copy_from_slice(&it.name);
        p[path - 1] = 0;
        p[path..size - 1].copy_from_slice(&it.path);
        p[size - 1] = 0;
        put32(head, HEADER + ENTRY * i, at as u32);
        put32(head, HEADER + ENTRY * i + 4, size as u32);
        at += size;
    }
    head.len() + at
}

/// Record is an item as it stands in a message.
struct Record<'a> {
    hash: u32,
    options: u32,
    enabled: u32,
    name: &'a [u8],
    path: &'a [u8],
}

impl Record<'_> {
    fn same(&self, it: &Item) -> bool {
        self.hash == it.hash && self.options == it.options && self.enabled == it.enabled && *self.name == *it.name && *self.path == *it.path
    }
}

struct Message<'a> {
    generation: u64,
    n: usize,
    directory: &'a [u8],
    area: &'a [u8],
}

type Checked<T> = Result<T, &'static str>;

fn parse(b: &[u8]) -> Checked<Message<'_>> {
    if b.len() < HEADER {
        return Err("a registry is shorter than its header");
    }
    if get32(b, 0) != VERSION || get32(b, 8) != SYSTEMD || get32(b, 12) != 0 {
        return Err("wrong header of a registry");
    }
    let n = get32(b, 4) as usize;
    if n > MAX_ITEMS || b.len() < HEADER + ENTRY * n {
        return Err("a registry has no room for its directory");
    }
    let (directory, area) = b[HEADER..].split_at(ENTRY * n);
    Ok(Message { generation: get64(b, 16), n, directory, area })
}

impl<'a> Message<'a> {
    /// next decodes item i, which begins at byte at of the items, and returns where the next one must begin. There is one
    /// encoding of a list of items, so each offset is compared with where the bytes before it end.
    fn next(&self, i: usize, at: usize) -> Checked<(Record<'a>, usize)> {
        let e = &self.directory[ENTRY * i..ENTRY * i + ENTRY];
        let (offset, size) = (get32(e, 0) as usize, get32(e, 4) as usize);
        if offset != at || at > self.area.len() || size > self.area.len() - at || size < FIXED + 2 {
            return Err("the directory of a registry is wrong");
        }
        let end = at + size;
        let b = &self.area[at..end];
        let (name, path) = (get32(b, 20) as usize, get32(b, 28) as usize);
        let enabled = get32(b, 12);
        if get32(b, 0) != VERSION || enabled > 1 || get32(b, 16) as usize != FIXED || name > MAX_STRING || path > MAX_STRING {
            return Err("an item of a registry is wrong");
        }
        let path_at = FIXED + name + 1;
        if get32(b, 24) as usize != path_at || size != path_at + path + 1 || b[path_at - 1] != 0 || b[size - 1] != 0 {
            return Err("the strings of an item are wrong");
        }
        let r = Record { hash: get32(b, 4), options: get32(b, 8), enabled, name: &b[FIXED..path_at - 1], path: &b[path_at..size - 1] };
        if i == self.n - 1 {
            return Ok((r, end));
        }
        let next = aligned(end);
        if next > self.area.len() {
            return Err("items of a registry are missing");
        }
        if self.area[end..next].iter().any(|&x| x != 0) {
            return Err("the padding of an item is not zero");
        }
        Ok((r, next))
    }
}

/// Table holds items and an index over them: open addressing, each slot the item itself. It never changes once published.
struct Table {
    items: Vec<Item>,
    slots: Vec<(bool, Item)>,
    changes: u64,
}

fn home(hash: u32) -> usize {
    ((hash as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48) as usize
}

impl Table {
    fn new(m: &Message, changes: u64) -> Checked<Table> {
        let slots = (2 * m.n).next_power_of_two().max(2);
        let mut t = Table { items: Vec::with_capacity(m.n), slots: vec![(false, Item::default()); slots], changes };
        let mut at = 0;
        for i in 0..m.n {
            let (r, next) = m.next(i, at)?;
            at = next;
            if r.name.contains(&0) || r.path.contains(&0) {
                return Err("a NUL inside of a string");
            }
            let it = Item { hash: r.hash, options: r.options, enabled: r.enabled, name: r.name.into(), path: r.path.into() };
            let mut s = home(it.hash) & (slots - 1);
            while t.slots[s].0 {
                if t.slots[s].1.hash == it.hash && t.slots[s].1.name == it.name {
                    return Err("an item stands there twice");
                }
                s = (s + 1) & (slots - 1);
            }
            t.slots[s] = (true, it.clone());
            t.items.push(it);
        }
        Ok(t)
    }
}

#[repr(align(128))]
struct OwnLine<T>(T);

/// Cache is the local copy of a registry. One thread may refresh while others look up; tables are kept until the end, so that
/// a reader never loses the one it holds. They change only when the items do.
pub struct Cache {
    table: OwnLine<AtomicPtr<Table>>,
    generation: OwnLine<AtomicU64>,
}

impl Cache {
    pub fn new() -> Cache {
        Cache { table: OwnLine(AtomicPtr::new(std::ptr::null_mut())), generation: OwnLine(AtomicU64::new(0)) }
    }

    #[inline]
    fn table(&self) -> Option<&Table> {
        unsafe { self.table.0.load(Ordering::Acquire).as_ref() }
    }

    /// refresh decodes a message and makes it the contents; it checks every byte of it each time.
    pub fn refresh(&self, encoded: &[u8]) -> Checked<()> {
        let m = parse(encoded)?;
        if m.generation <= self.generation.0.load(Ordering::Relaxed) {
            return Err("the generation does not grow");
        }
        let empty: &[Item] = &[];
        let items = self.table().map_or(empty, |t| &t.items);
        let mut same = self.table().is_some() && items.len() == m.n;
        let mut at = 0;
        for i in 0..m.n {
            let (r, next) = m.next(i, at)?;
            at = next;
            same = same && r.same(&items[i]);
        }
        if at != m.area.len() {
            return Err("bytes follow the last item of a registry");
        }
        if !same {
            let t = Table::new(&m, self.changes() + 1)?;
            self.table.0.store(Box::into_raw(Box::new(t)), Ordering::Release);
        }
        self.generation.0.store(m.generation, Ordering::Release);
        Ok(())
    }

    /// get finds the item with this hash and name.
    #[inline]
    pub fn get(&self, hash: u32, name: &[u8]) -> Option<&Item> {
        let t = self.table()?;
        let mask = t.slots.len() - 1;
        let mut i = home(hash) & mask;
        loop {
            let (used, it) = &t.slots[i];
            if !used {
                return None;
            }
            if it.hash == hash && *it.name == *name {
                return Some(it);
            }
            i = (i + 1) & mask;
        }
    }

    /// changes is how many refreshes changed the items.
    pub fn changes(&self) -> u64 {
        self.table().map_or(0, |t| t.changes)
    }

    pub fn equal(&self, items: &[Item]) -> bool {
        self.table().map_or(items.is_empty(), |t| t.items == items)
    }
}
