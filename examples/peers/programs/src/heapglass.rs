//! The work under `TrackingAlloc`, not recorded, or recorded if `HEAPGLASS_OUT` is set. With
//! `--profiled`, it decodes as `Profiled<T>`.

use peers_work::Readers;
use tracking_alloc::{Profiled, TrackingAlloc};

#[global_allocator]
static ALLOC: TrackingAlloc = TrackingAlloc::system();

const PROFILED: Readers = Readers {
    json: |input| {
        serde_json::from_slice::<Profiled<_>>(input)
            .expect("a fleet")
            .0
    },
    postcard: |input| {
        postcard::from_bytes::<Profiled<_>>(input)
            .expect("a fleet")
            .0
    },
    rmp: |input| {
        rmp_serde::from_slice::<Profiled<_>>(input)
            .expect("a fleet")
            .0
    },
    value: |input| {
        serde_json::from_slice::<Profiled<_>>(input)
            .expect("a value")
            .0
    },
};

fn main() {
    let profiled = std::env::args().any(|word| word == "--profiled");
    let readers = if profiled { PROFILED } else { Readers::PLAIN };
    peers_work::prepare(readers).run().print();
}
