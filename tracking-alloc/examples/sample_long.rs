//! A long run in mode `sample`: the file and the resident memory must not grow with the events.
//! `HEAPGLASS_EVENTS=1000000000 cargo run --release -p tracking-alloc --example sample_long`

use std::hint::black_box;

#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();

fn resident_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or(0) * 4096
}

/// Makes about this many events, on short threads, with up to 1,000 live blocks each.
fn events(count: u64) {
    const OF_THREAD: u64 = 10_000_000;
    for turn in 0..count.div_ceil(OF_THREAD) {
        let work = move || {
            let mut live: Vec<Vec<u8>> = Vec::new();
            live.resize_with(1000, Vec::new);
            for index in 0..OF_THREAD / 2 {
                let place = (index.wrapping_mul(0x9E37_79B9) % 1000) as usize;
                let bytes = 16 + (index * 37 + turn) % 500;
                live[place] = black_box(Vec::with_capacity(bytes as usize));
            }
        };
        std::thread::spawn(work).join().expect("it ends");
    }
}

fn main() -> Result<(), tracking_alloc::Error> {
    let all = std::env::var("HEAPGLASS_EVENTS").ok();
    let all: u64 = all.and_then(|all| all.parse().ok()).unwrap_or(100_000_000);
    let path = std::env::temp_dir().join(format!("sample-long-{}.hg", std::process::id()));
    let recorder = tracking_alloc::Recorder::options()
        .sample(true)
        .start(&path)?;
    let measured = || {
        let file = std::fs::metadata(&path).map_or(0, |metadata| metadata.len());
        (file, resident_bytes())
    };
    events(all / 10);
    let (file, resident) = measured();
    events(all - all / 10);
    let (file_now, resident_now) = measured();
    recorder.finish()?;
    let _ = std::fs::remove_file(&path);
    println!(
        "after {} events: file {file}, resident {resident}",
        all / 10
    );
    println!("after {all} events: file {file_now}, resident {resident_now}");
    assert_eq!(file, file_now, "the file grew");
    let growth = resident_now.saturating_sub(resident);
    assert!(growth <= resident / 100, "resident memory grew by {growth}");
    Ok(())
}
