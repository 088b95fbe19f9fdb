//! Libraries that come and go.

use super::{Block, TALLY};
use std::ffi::{CString, c_void};
use tracking_alloc::phase;

/// What a library exports: calls back with a size.
type Enter = extern "C" fn(extern "C" fn(usize), usize) -> usize;

extern "C" fn allocate(bytes: usize) {
    std::mem::forget(Block::new(&TALLY, bytes, 8));
}

fn open(path: &CString) -> (*mut c_void, Enter) {
    // SAFETY: the library has no constructors; `enter` is such a function.
    unsafe {
        let library = libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL);
        assert!(!library.is_null(), "{path:?}");
        let enter = libc::dlsym(library, c"enter".as_ptr());
        assert!(!enter.is_null());
        (library, std::mem::transmute::<*mut c_void, Enter>(enter))
    }
}

/// Opens each library, allocates through it so many bytes, closes it: `WAIT_MS BYTES PATH BYTES PATH..`. Prints where
/// each had its code. Waits so long behind each close, and allocates 100 KiB at once then.
pub(super) fn in_turn(words: &[&str]) {
    let wait = words[0].parse().expect("milliseconds");
    // All allocated before, so that the libraries find the same holes.
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

/// Opens a library, deletes its file, or moves another over it, then allocates through it: `PATH [OTHER]`.
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
