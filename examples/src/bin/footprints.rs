//! A target program. `footprints FILE` measures live values, one of which is read from the output
//! of `cargo metadata`; see [`heapglass_examples::footprints`].

use tracking_alloc::TrackingAlloc;

#[global_allocator]
static ALLOC: TrackingAlloc = TrackingAlloc::system();

fn main() {
    let path = std::env::args().nth(1).expect("usage: footprints FILE");
    let metadata = std::fs::read_to_string(&path).expect("a file that can be read");
    heapglass_examples::footprints::run(&metadata);
}
