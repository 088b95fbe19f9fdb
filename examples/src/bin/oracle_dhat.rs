//! Runs an oracle's workload under dhat-rs: `oracle_dhat WORKLOAD`. Prints its counts as JSON.

#[global_allocator]
static ALLOC: dhat::Alloc = dhat::Alloc;

fn main() {
    let name = std::env::args().nth(1).unwrap_or_default();
    let input = heapglass_examples::oracle::input();
    let work = heapglass_examples::oracle::workload(&name);
    let profiler = dhat::Profiler::builder().testing().build();
    let kept = work(&input);
    let stats = dhat::HeapStats::get();
    drop(profiler);
    println!(
        "{}",
        serde_json::json!({
            "total_bytes": stats.total_bytes, "total_blocks": stats.total_blocks,
            "live_bytes": stats.curr_bytes, "live_blocks": stats.curr_blocks,
            "peak_bytes": stats.max_bytes, "peak_blocks": stats.max_blocks,
        })
    );
    drop(kept);
}
