//! A target program. `case NAME [WORDS..]` runs one of [`heapglass_examples::cases`] under
//! `TrackingAlloc`, over the allocator that `CASE_ALLOC` names.

use heapglass_examples::switch::Switch;
use tracking_alloc::TrackingAlloc;

#[global_allocator]
static ALLOC: TrackingAlloc<Switch> = TrackingAlloc::new(Switch::new());

fn main() -> std::process::ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.split_first() {
        Some((name, words)) => heapglass_examples::cases::run(name, words),
        None => panic!("usage: case NAME [WORDS..]"),
    }
}
