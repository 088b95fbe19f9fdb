//! Compiled as a crate of its own, named as the one that records: counts the bytes of each stack of
//! a load.
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};

unsafe extern "C" {
    fn backtrace(buffer: *mut usize, size: i32) -> i32;
}

pub struct Watch;

thread_local! {
    static LOAD: Cell<usize> = const { Cell::new(0) };
    static ROWS: RefCell<Vec<(usize, usize, Vec<usize>)>> = const { RefCell::new(Vec::new()) };
    static WANTED: RefCell<Vec<(usize, &'static str, usize)>> = const { RefCell::new(Vec::new()) };
}

#[inline(never)]
fn watch(bytes: usize) {
    let load = LOAD.replace(0);
    if load == 0 {
        return;
    }
    let mut buffer = [0; 128];
    let depth = unsafe { backtrace(buffer.as_mut_ptr(), 128) } as usize;
    ROWS.with_borrow_mut(|rows| rows.push((load, bytes, buffer[..depth].to_vec())));
    LOAD.set(load);
}

unsafe impl GlobalAlloc for Watch {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        watch(layout.size());
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        watch(layout.size());
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        unsafe { System.dealloc(block, layout) }
    }
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        watch(bytes);
        unsafe { System.realloc(block, layout, bytes) }
    }
}

/// Runs a load whose blocks are of the types wanted; bytes of 0 are not known beforehand: only one
/// such type a load.
#[inline(never)]
pub fn load<R>(wanted: &[(&'static str, usize)], work: impl FnOnce() -> R) -> R {
    let number = WANTED.with_borrow_mut(|all| {
        let number = all.last().map_or(1, |last| last.0 + 1);
        all.extend(wanted.iter().map(|&(name, bytes)| (number, name, bytes)));
        number
    });
    LOAD.set(number);
    let made = work();
    LOAD.set(0);
    std::hint::black_box(&made);
    made
}

/// Prints `want LOAD|TYPE|BYTES` and `row LOAD|BYTES|MODULE@OFFSET ..`, return addresses innermost
/// first.
pub fn report() {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let mut bases: HashMap<&str, usize> = HashMap::new();
    let mut ranges = Vec::new();
    for line in maps.lines() {
        let mut words = line.split_whitespace();
        let (range, path) = (words.next().unwrap(), words.nth(4).unwrap_or(""));
        let (start, end) = range.split_once('-').unwrap();
        let number = |text| usize::from_str_radix(text, 16).unwrap();
        let (start, end) = (number(start), number(end));
        ranges.push((start..end, path, *bases.entry(path).or_insert(start)));
    }
    let mut sums: BTreeMap<(usize, Vec<usize>), usize> = BTreeMap::new();
    for (load, bytes, stack) in ROWS.take() {
        *sums.entry((load, stack)).or_default() += bytes;
    }
    for (load, name, mut bytes) in WANTED.take() {
        if bytes == 0 {
            bytes = sums.iter().filter(|((of, _), _)| *of == load).map(|(_, bytes)| bytes).sum();
        }
        println!("want {load}|{name}|{bytes}");
    }
    for ((load, stack), bytes) in sums {
        print!("row {load}|{bytes}|");
        for address in stack {
            if let Some((_, path, base)) = ranges.iter().find(|(range, ..)| range.contains(&address)) {
                print!("{path}@{} ", address - base);
            }
        }
        println!();
    }
}
