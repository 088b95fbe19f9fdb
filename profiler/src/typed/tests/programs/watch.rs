//! An allocator that lists the live blocks, and writes them with their contents to a file.

use std::alloc::{GlobalAlloc, Layout, System};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::os::unix::fs::FileExt;
use std::ptr::{null_mut, addr_of_mut};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};

pub struct Watch;

/// Before each block: its neighbours in the list of blocks, and its size.
#[repr(C)]
struct Head {
    previous: *mut Head,
    next: *mut Head,
    size: usize,
    is_listed: usize,
}

static mut FIRST: *mut Head = null_mut();
static LOCKED: AtomicBool = AtomicBool::new(false);
/// Blocks that the dump itself makes are not listed.
static PAUSED: AtomicBool = AtomicBool::new(false);
pub static LIVE: AtomicUsize = AtomicUsize::new(0);

fn locked(work: impl FnOnce()) {
    while LOCKED.swap(true, Acquire) {}
    work();
    LOCKED.store(false, Release);
}

fn room(layout: Layout) -> (usize, Layout) {
    let before = layout.align().max(size_of::<Head>());
    let all = Layout::from_size_align(before + layout.size(), layout.align().max(16)).unwrap();
    (before, all)
}

// SAFETY: blocks are those of `System`, behind a head that has its own room, aligned as the block.
unsafe impl GlobalAlloc for Watch {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let (before, all) = room(layout);
        // SAFETY: the layout is not empty, and the block has room for head and value.
        let place = unsafe { System.alloc(all).add(before) };
        // SAFETY: `before` is at least the size of a head.
        let head = unsafe { place.cast::<Head>().sub(1) };
        let is_listed = !PAUSED.load(Relaxed);
        // SAFETY: under the lock, the list is of live heads.
        locked(|| unsafe {
            let next = if is_listed { FIRST } else { null_mut() };
            let size = layout.size();
            head.write(Head { previous: null_mut(), next, size, is_listed: is_listed.into() });
            if is_listed {
                if !next.is_null() { (*next).previous = head }
                FIRST = head;
                LIVE.fetch_add(1, Relaxed);
            }
        });
        place
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        let (before, all) = room(layout);
        // SAFETY: `alloc` wrote it there.
        let head = unsafe { place.cast::<Head>().sub(1) };
        // SAFETY: under the lock, the list is of live heads, and this is one.
        locked(|| unsafe {
            let Head { previous, next, is_listed, .. } = head.read();
            if is_listed == 1 {
                if previous.is_null() { FIRST = next } else { (*previous).next = next }
                if !next.is_null() { (*next).previous = previous }
                LIVE.fetch_sub(1, Relaxed);
            }
        });
        // SAFETY: the block that `alloc` took, with its layout.
        unsafe { System.dealloc(place.sub(before), all) }
    }
}

/// Writes the bias of the program, its thread pointer, its writable segments with thread-local
/// values, and all blocks.
pub fn dump(path: &str) {
    PAUSED.store(true, Relaxed);
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path).unwrap());
    let memory = File::open("/proc/self/mem").unwrap();
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let program = std::fs::read_link("/proc/self/exe").unwrap();
    let program = program.to_str().unwrap();
    let mut bias = 0;
    let mut end = 0;
    let mut roots = Vec::new();
    for line in maps.lines() {
        let range = line.split(' ').next().unwrap().split_once('-').unwrap();
        let range = [range.0, range.1].map(|at| u64::from_str_radix(at, 16).unwrap());
        let own = line.ends_with(program);
        if own && bias == 0 { bias = range[0] }
        let is_bss = range[0] == end && !line.contains('/') && !line.contains('[');
        if line.contains("rw-p") && (own || is_bss) { roots.push((0, range[0], range[1] - range[0])) }
        if own { end = range[1] }
    }
    let thread: u64;
    // SAFETY: the word at the thread pointer is the thread pointer.
    unsafe { std::arch::asm!("mov {}, fs:0", out(reg) thread) };
    roots.push((1, thread - 1024, 1024));
    let mut word = |out: &mut BufWriter<File>, word: u64| out.write_all(&word.to_le_bytes()).unwrap();
    word(&mut out, bias);
    word(&mut out, thread);
    word(&mut out, roots.len() as u64);
    for (kind, start, length) in roots {
        let mut bytes = vec![0; length as usize];
        memory.read_exact_at(&mut bytes, start).unwrap();
        [kind, start, length].map(|number| word(&mut out, number));
        out.write_all(&bytes).unwrap();
    }
    word(&mut out, LIVE.load(Relaxed) as u64);
    // SAFETY: the list is of live heads, and no other thread runs.
    let mut head = unsafe { *addr_of_mut!(FIRST) };
    while !head.is_null() {
        // SAFETY: the block follows its head.
        let start = unsafe { head.add(1) }.cast::<u8>();
        // SAFETY: the head is live.
        let size = unsafe { (*head).size };
        word(&mut out, start as u64);
        word(&mut out, size as u64);
        // SAFETY: so many bytes were allocated there. Those that were never written are of no
        // concern to a test that copies memory.
        out.write_all(unsafe { std::slice::from_raw_parts(start, size) }).unwrap();
        // SAFETY: the head is live.
        head = unsafe { (*head).next };
    }
    out.flush().unwrap();
}
