//! A target program: `fields WORK [WORDS..]` reads data as `Profiled<T>`; see [`heapglass_examples::fields`].

use tracking_alloc::TrackingAlloc;

#[global_allocator]
static ALLOC: TrackingAlloc = TrackingAlloc::system();

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.split_first() {
        Some((work, words)) => heapglass_examples::fields::run(work, words),
        None => panic!("usage: fields WORK [WORDS..]"),
    }
}
