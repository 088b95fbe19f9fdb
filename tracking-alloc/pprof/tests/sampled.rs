//! A process whose recording samples takes profiles of itself.

#![cfg(target_os = "linux")]

use tracking_alloc::{Recorder, TrackingAlloc, pprof, stats};

#[global_allocator]
static ALLOC: TrackingAlloc = TrackingAlloc::system();

#[test]
fn what_a_profile_takes_is_in_no_exact_count() {
    let folder = tempfile::tempdir().unwrap();
    let recorder = Recorder::options()
        .sample(true)
        .start(folder.path().join("sampled.hg"))
        .unwrap();
    for _ in 0..2 {
        let before = stats();
        let profile = pprof().unwrap();
        let after = stats();
        // The returned bytes are the caller's.
        let counted = after.total_bytes - before.total_bytes;
        assert_eq!(counted, profile.bytes.len() as u64);
    }
    recorder.finish().unwrap();
}
