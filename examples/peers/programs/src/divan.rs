//! The work under divan's `AllocProfiler`, which counts on every thread, inside a benchmark or not.

#[global_allocator]
static ALLOC: divan::AllocProfiler = divan::AllocProfiler::system();

fn main() {
    peers_work::prepare(peers_work::Readers::PLAIN)
        .run()
        .print();
}
