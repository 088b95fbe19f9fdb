//! The work under jemalloc, which profiles if `_RJEM_MALLOC_CONF` says so.

#[global_allocator]
static ALLOC: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() {
    peers_work::prepare(peers_work::Readers::PLAIN)
        .run()
        .print();
}
