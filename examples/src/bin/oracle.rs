//! Runs an oracle's workload under heapglass over stats_alloc: `oracle WORKLOAD [measure]
//! [second-thread]`. Prints one line of JSON with the counts of `measure`, `stats` and stats_alloc
//! in the window between the marks.

use serde_json::json;
use stats_alloc::{Region, StatsAlloc};
use std::alloc::System;
use tracking_alloc::TrackingAlloc;

#[global_allocator]
static ALLOC: TrackingAlloc<&StatsAlloc<System>> =
    TrackingAlloc::new(&stats_alloc::INSTRUMENTED_SYSTEM);

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let input = heapglass_examples::oracle::input();
    let work = heapglass_examples::oracle::workload(&words[0]);
    let asked = |word: &str| words.iter().any(|asked| asked == word);
    if asked("second-thread") {
        let (ready, is_ready) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let own = vec![1u8; 3_000];
            ready.send(own).expect("main waits");
            std::thread::sleep(std::time::Duration::from_secs(3600));
        });
        std::mem::forget(is_ready.recv().expect("the thread sends"));
    }
    let before = tracking_alloc::stats();
    let region = Region::new(&stats_alloc::INSTRUMENTED_SYSTEM);
    tracking_alloc::mark("begin");
    let (kept, delta) = if asked("measure") {
        let (kept, delta) = tracking_alloc::measure(|| work(&input));
        (kept, Some(delta))
    } else {
        (work(&input), None)
    };
    tracking_alloc::mark("end");
    let change = region.change();
    let after = tracking_alloc::stats();
    let figures = |figures: tracking_alloc::Stats| {
        json!({
            "total_bytes": figures.total_bytes, "total_blocks": figures.total_blocks,
            "live_bytes": figures.live_bytes, "live_blocks": figures.live_blocks,
            "peak_bytes": figures.peak_bytes, "peak_blocks": figures.peak_blocks,
            "grows": figures.grows, "shrinks": figures.shrinks,
        })
    };
    println!(
        "{}",
        json!({
            "measure": delta.map(figures),
            "stats": {
                "total_bytes": after.total_bytes - before.total_bytes, "total_blocks": after.total_blocks - before.total_blocks,
                "live_bytes": after.live_bytes - before.live_bytes, "live_blocks": after.live_blocks - before.live_blocks,
                "fresh_blocks": (after.total_blocks - after.grows - after.shrinks) - (before.total_blocks - before.grows - before.shrinks),
            },
            "stats_alloc": {
                "live_bytes": change.bytes_allocated as i64 - change.bytes_deallocated as i64,
                "fresh_blocks": change.allocations, "freed_blocks": change.deallocations, "reallocations": change.reallocations,
            },
        })
    );
    drop(kept);
}
