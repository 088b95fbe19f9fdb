//! The benchmark's work under the system's allocator, as it is.

fn main() {
    heapglass_examples::cost::main();
}
