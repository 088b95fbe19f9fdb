//! The work under heapscope, with its default settings.

#[global_allocator]
static ALLOC: heapscope::Alloc = heapscope::Alloc::system();

fn main() {
    let output = heapscope::Output::dhat_v2(peers_work::output());
    let _profiler = match heapscope::Profiler::builder().output(output).build() {
        Ok(profiler) => profiler,
        Err(error) => {
            eprintln!("heapscope does not start: {error}");
            std::process::exit(1);
        }
    };
    peers_work::prepare(peers_work::Readers::PLAIN)
        .run()
        .print();
}
