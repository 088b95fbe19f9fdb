//! A target program. `fields WORK [WORDS..]` reads data as `Profiled<T>`: every feature of serde's
//! derive in every format, a thousand tasks at once, and hostile data. It prints what a test needs
//! to check the recording, and panics if the data read differs from the data written.
//!
//! It is not part of the library, because nine formats times all these types take minutes to build,
//! and nothing else needs them.

mod agree;
mod features;
mod formats;
mod hostile;
mod tasks;
mod types;

use tracking_alloc::TrackingAlloc;

#[global_allocator]
static ALLOC: TrackingAlloc = TrackingAlloc::system();

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.split_first() {
        Some((work, words)) => run(work, words),
        None => panic!("usage: fields WORK [WORDS..]"),
    }
}

/// Runs one kind of work.
fn run(work: &str, words: &[&str]) {
    let number = |index: usize| {
        words
            .get(index)
            .and_then(|word| word.parse::<usize>().ok())
            .unwrap_or(1)
    };
    let word = words.first().copied().unwrap_or_default();
    match work {
        "features" => features::run(),
        "agree" => agree::run(word, number(1)),
        "tasks" => tasks::run(number(0)),
        "deep" => hostile::deep(word),
        "stack" => hostile::stack(number(0)),
        "types" => hostile::types_in_types(),
        "keys" => hostile::keys(number(0)),
        "names" => hostile::names(),
        "phases" => hostile::phases(number(0), number(1)),
        _ => panic!("no work is called {work:?}"),
    }
}
