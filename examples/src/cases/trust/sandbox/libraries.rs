//! Libraries that are loaded and unloaded.

use super::{Block, TALLY};
use std::ffi::{CString, c_void};
use tracking_alloc::phase;

/// The exported function of a library, which calls back with a size.
type Enter = extern "C" fn(extern "C" fn(usize), usize) -> usize;

extern "C" fn allocate(bytes: usize) {
    std::mem::forget(Block::new(&TALLY, bytes, 8));
}

fn open(path: &CString) -> (*mut c_void, Enter) {
    // SAFETY: the library has no constructors, and `enter` has this type.
    unsafe {
        let library = libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL);
        assert!(!library.is_null(), "{path:?}");
        let enter = libc::dlsym(library, c"enter".as_ptr());
        assert!(!enter.is_null());
        (library, std::mem::transmute::<*mut c_void, Enter>(enter))
    }
}

/// Opens each library, allocates the given bytes through it, and closes it: `WAIT_MS BYTES PATH
/// BYTES PATH..`. Prints where the code of each was. After each close, waits WAIT_MS and then
/// allocates 100 KiB at once.
pub(super) fn in_turn(words: &[&str]) {
    let wait = words[0].parse().expect("milliseconds");
    // All strings are allocated before, so that the libraries find the same holes.
    let libraries: Vec<(usize, CString)> = words[1..]
        .chunks_exact(2)
        .map(|pair| {
            let path = CString::new(pair[1]).expect("a path");
            (pair[0].parse().expect("bytes"), path)
        })
        .collect();
    let mut places = Vec::with_capacity(libraries.len());
    let work = phase("work");
    for (bytes, path) in &libraries {
        let (library, enter) = open(path);
        for _ in 0..10 {
            enter(allocate, *bytes);
        }
        places.push(enter as usize);
        // SAFETY: opened above, and nothing of it is used any more.
        assert_eq!(unsafe { libc::dlclose(library) }, 0);
        if wait > 0 {
            std::thread::sleep(std::time::Duration::from_millis(wait));
            drop(Block::new(&TALLY, 100 << 10, 8));
        }
    }
    drop(work);
    for place in places {
        println!("place={place}");
    }
    TALLY.print();
}

/// Opens a library, deletes its file or moves another over it, then allocates through it: `PATH
/// [OTHER]`.
pub(super) fn deleted(words: &[&str]) {
    let (_, enter) = open(&CString::new(words[0]).expect("a path"));
    match words.get(1) {
        Some(other) => std::fs::rename(other, words[0]).expect("replaced"),
        None => std::fs::remove_file(words[0]).expect("deleted"),
    }
    let work = phase("work");
    for _ in 0..10 {
        enter(allocate, 100);
    }
    drop(work);
    TALLY.print();
}

extern "C" fn churn(bytes: usize) {
    drop(Block::new(&TALLY, bytes, 8));
}

/// Calls back many times at constant live bytes, so nothing changes the peak. This takes about 200
/// ms, in which changed code must be noticed.
fn churn_through(enter: Enter, bytes: usize) {
    let begin = std::time::Instant::now();
    let mut calls = 0u32;
    while calls < 100_000 || begin.elapsed().as_millis() < 200 {
        for _ in 0..1_000 {
            enter(churn, bytes);
        }
        calls += 1_000;
    }
}

/// Opens each library, allocates and frees through it for a while, and closes it: `PATH..`. Prints
/// where the code of each was.
pub(super) fn reloaded(words: &[&str]) {
    let libraries: Vec<CString> = words
        .iter()
        .map(|path| CString::new(*path).expect("a path"))
        .collect();
    let mut places = Vec::with_capacity(libraries.len());
    let work = phase("work");
    // This is the peak. All that follows stays far below it.
    drop(Block::new(&TALLY, 1 << 20, 8));
    for path in &libraries {
        let (library, enter) = open(path);
        churn_through(enter, 100);
        places.push(enter as usize);
        // SAFETY: opened above, and nothing of it is used any more.
        assert_eq!(unsafe { libc::dlclose(library) }, 0);
    }
    drop(work);
    for place in places {
        println!("place={place}");
    }
    TALLY.print();
}

/// Generates code at the later address of a library, and calls back through both: `PATH`. Prints
/// where the code of each was.
#[cfg(target_arch = "x86_64")]
pub(super) fn after_generated_code(words: &[&str]) {
    const PAGE: usize = 4096;
    // push rbp; mov rbp, rsp; mov rax, rdi; mov rdi, rsi; call rax; pop rbp; ret
    const CODE: [u8; 14] = [
        0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf8, 0x48, 0x89, 0xf7, 0xff, 0xd0, 0x5d, 0xc3,
    ];
    let path = CString::new(words[0]).expect("a path");
    let (library, enter) = open(&path);
    let place = enter as usize;
    // SAFETY: nothing of the library was used, so its page is free. It then holds a complete
    // function of that type.
    let generated = unsafe {
        assert_eq!(libc::dlclose(library), 0);
        let page = libc::mmap(
            (place & !(PAGE - 1)) as *mut c_void,
            PAGE,
            libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE,
            -1,
            0,
        );
        assert_ne!(page, libc::MAP_FAILED);
        std::ptr::copy_nonoverlapping(CODE.as_ptr(), place as *mut u8, CODE.len());
        std::mem::transmute::<*mut c_void, Enter>(place as *mut c_void)
    };
    let work = phase("work");
    churn_through(generated, 100);
    // SAFETY: mapped above, and no longer used.
    unsafe { libc::munmap((place & !(PAGE - 1)) as *mut c_void, PAGE) };
    let (_, enter) = open(&path);
    churn_through(enter, 100);
    drop(work);
    println!("place={place}\nplace={}", enter as usize);
    TALLY.print();
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) fn after_generated_code(_: &[&str]) {}
