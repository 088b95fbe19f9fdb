//! The work under dhat-rs, with its default settings (stacks of 10 frames).

#[global_allocator]
static ALLOC: dhat::Alloc = dhat::Alloc;

fn main() {
    let _profiler = dhat::Profiler::builder()
        .file_name(peers_work::output())
        .build();
    peers_work::prepare(peers_work::Readers::PLAIN)
        .run()
        .print();
}
