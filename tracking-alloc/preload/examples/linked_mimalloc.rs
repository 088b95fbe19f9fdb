//! A program that contains mimalloc, for the tests.

mod linked;

#[global_allocator]
static ALLOC: linked::Counted<mimalloc::MiMalloc> = linked::Counted(mimalloc::MiMalloc);

fn main() {
    linked::work();
}
