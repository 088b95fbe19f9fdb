//! A target program: `fields WORK [WORDS..]` reads data as `Profiled<T>`: of every feature that serde's derive knows, in
//! every format; in a thousand tasks at once; and made to do harm. Each prints what a test needs to hold the recording
//! against; all panic wherever what is read differs from what was written.
//!
//! Not in the library: nine formats times all these types take minutes to build, and nothing else needs them.

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

/// Does one of the works.
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
