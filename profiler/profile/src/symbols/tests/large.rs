//! How long it takes: a measurement, not a gate. Run with a binary of one's own:
//! `HEAPGLASS_LARGE_BINARY=PATH cargo test --release -p heapglass-profiler -- --ignored --nocapture
//! large`.

use std::time::Instant;

use super::programs::*;
use super::*;

#[test]
#[ignore = "a measurement that needs a large binary"]
fn twenty_thousand_frames_of_a_large_binary() {
    let binary = PathBuf::from(
        std::env::var_os("HEAPGLASS_LARGE_BINARY").expect("HEAPGLASS_LARGE_BINARY is not set"),
    );
    let cache = tempfile::tempdir().expect("a folder");
    // Return addresses spread over all functions.
    let all = functions(&binary);
    let step = (all
        .iter()
        .map(|(_, extent)| extent.end - extent.start)
        .sum::<u64>()
        / 20_000)
        .max(1);
    let mut frames = Vec::new();
    let mut skipped = 0;
    for (_, extent) in &all {
        let mut at = extent.start + step.saturating_sub(skipped);
        while at < extent.end {
            frames.push((0, at));
            at += step;
        }
        skipped = (skipped + extent.end - extent.start) % step;
    }
    let modules = [module(&binary)];
    let options = SymbolOptions {
        cache: Some(cache.path().to_path_buf()),
        ..SymbolOptions::default()
    };
    for what in ["from the binary", "from the cache"] {
        let start = Instant::now();
        let symbols = resolve(&modules, &frames, &options, &|_| ()).expect("resolving");
        let took = start.elapsed();
        let named = symbols
            .frames
            .iter()
            .filter(|chain| !chain.is_empty())
            .count();
        let sources: usize = symbols.frames.iter().map(Vec::len).sum();
        println!(
            "{what}: {} frames, {named} named, {sources} source frames in {took:.2?} ({:?} {:?})",
            frames.len(),
            symbols.modules,
            symbols.notes
        );
        let start = Instant::now();
        let classifier = Classifier::new(&symbols);
        let functions = symbols
            .frames
            .iter()
            .flatten()
            .map(|frame| classifier.function(frame, "x").short.len())
            .sum::<usize>();
        println!("classified in {:.2?} ({functions})", start.elapsed());
    }
}
