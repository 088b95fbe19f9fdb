//! The benchmark's work under dhat-rs, for comparison.

#[global_allocator]
static ALLOC: dhat::Alloc = dhat::Alloc;

fn main() {
    // Its file goes nowhere: the benchmark asks for the time only.
    let _profiler = dhat::Profiler::builder().file_name("/dev/null").build();
    heapglass_examples::cost::main();
}
