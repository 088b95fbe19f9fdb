//! Threads of which one fails, as tests of a program do: each has the name of its function, which
//! Linux cuts after 15 bytes.

use std::hint::black_box;
use std::thread::Builder;

/// Bytes that a quiet thread allocates.
pub const QUIET_BYTES: usize = 1 << 20;

fn a() {
    drop(black_box(vec![1_u8; QUIET_BYTES]));
}

fn b() {
    let text = String::from("a number");
    let number: u8 = text.parse().expect("fails, as it should");
    black_box(number);
}

fn c() {
    drop(black_box(vec![1_u8; 2 * QUIET_BYTES]));
}

/// Runs the threads one after another, so that they count in the same place.
pub(super) fn run() {
    for (name, work) in [
        ("cases::fail::a", a as fn()),
        ("cases::fail::b", b),
        ("cases::fail::c", c),
    ] {
        let thread = Builder::new().name(name.to_owned()).spawn(work);
        let ended = thread.expect("a thread").join();
        assert_eq!(ended.is_err(), name == "cases::fail::b");
    }
}
