//! A program that contains jemalloc, for the tests.

mod linked;

#[global_allocator]
static ALLOC: linked::Counted<tikv_jemallocator::Jemalloc> =
    linked::Counted(tikv_jemallocator::Jemalloc);

fn main() {
    linked::work();
}
