//! Profiles of this very process. A process records once, so this is one test.

#![cfg(target_os = "linux")]

use std::hint::black_box;
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use heapglass_profile::{OpenOptions, open};
use tracking_alloc::pprof::{Error, Profile};
use tracking_alloc::{Recorder, TrackingAlloc, pprof, stats};

#[global_allocator]
static ALLOC: TrackingAlloc = TrackingAlloc::system();

#[path = "../../../profiler/tests/decoded/mod.rs"]
mod decoded;

use decoded::{decode, message, position, string};

/// Returns the sum of a sample type over the stacks that have a function.
fn total(profile: &message::Profile, name: &str, function: &str) -> i64 {
    let at = position(profile, name);
    let functions = |id: u64| {
        let lines = profile.location[id as usize - 1].line.iter();
        lines.map(|line| {
            string(
                profile,
                profile.function[line.function_id as usize - 1].name,
            )
        })
    };
    let samples = profile.sample.iter();
    let has = |sample: &&message::Sample| {
        let mut names = sample.location_id.iter().flat_map(|&id| functions(id));
        names.any(|name| name.contains(function))
    };
    samples.filter(has).map(|sample| sample.value[at]).sum()
}

#[inline(never)]
#[expect(clippy::vec_box, reason = "each is a block of its own")]
fn keep(blocks: usize) -> Vec<Box<[u8; 1000]>> {
    (0..blocks)
        .map(|_| black_box(Box::new([7; 1000])))
        .collect()
}

/// The time for which a dump is returned again.
const FRESH: Duration = Duration::from_millis(1100);

#[test]
fn a_process_has_profiles_of_itself_that_it_is_not_in() {
    assert_eq!(pprof().unwrap_err(), Error::NotRecording);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("self.hg");
    let recorder = Recorder::start(&path).unwrap();
    let kept = keep(100);

    let before = stats();
    let profile = pprof().unwrap();
    let after = stats();
    // The returned bytes are the caller's; nothing else was counted.
    assert_eq!(after.total_blocks - before.total_blocks, 1);
    assert_eq!(
        after.total_bytes - before.total_bytes,
        profile.bytes.len() as u64
    );
    assert_eq!(
        after.live_bytes - before.live_bytes,
        profile.bytes.len() as i64
    );
    assert_eq!(Profile::CONTENT_TYPE, "application/octet-stream");

    let (made, _) = decode(&profile.bytes);
    assert_eq!(total(&made, "inuse_objects", "live::keep"), 101);
    assert_eq!(
        total(&made, "inuse_space", "live::keep"),
        100 * 1000 + 100 * 8
    );
    assert_eq!(total(&made, "inuse_space", ""), before.live_bytes as i64);
    assert_eq!(total(&made, "alloc_space", ""), before.total_bytes as i64);
    assert_eq!(
        total(&made, "alloc_objects", "heapglass"),
        0,
        "not in itself"
    );
    for name in [
        "alloc_objects",
        "alloc_space",
        "inuse_objects",
        "inuse_space",
        "peak_space",
    ] {
        position(&made, name);
    }
    let executable = &made.mapping[0];
    assert!(string(&made, executable.filename).contains("live-"));
    assert!(executable.has_functions && executable.has_line_numbers);
    let note = string(&made, executable.build_id);
    assert!(
        note.len() >= 16 && note.bytes().all(|digit| digit.is_ascii_hexdigit()),
        "{note}"
    );
    drop(made);

    let picture = pprof::flamegraph().unwrap();
    assert!(picture.starts_with("<?xml") && picture.contains("live::keep"));
    drop(picture);

    // A hundred at once get the same.
    thread::sleep(FRESH);
    let more = keep(50);
    let barrier = Barrier::new(100);
    let all: Vec<Profile> = thread::scope(|scope| {
        let ask = || {
            barrier.wait();
            pprof().unwrap()
        };
        let asked: Vec<_> = (0..100).map(|_| scope.spawn(ask)).collect();
        asked.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert!(all.iter().all(|one| *one == all[0]), "one dump");
    let (made, _) = decode(&all[0].bytes);
    assert_eq!(total(&made, "inuse_objects", "live::keep"), 152);
    drop((all, made));

    drop((kept, more, profile));
    thread::sleep(FRESH);
    let (last, _) = decode(&pprof().unwrap().bytes);
    assert_eq!(total(&last, "inuse_objects", "live::keep"), 0);
    recorder.finish().unwrap();
    assert_eq!(pprof().unwrap_err(), Error::NotRecording);

    let profile = open(&path, &OpenOptions::default(), &|_| ()).unwrap();
    let lost = profile.lost();
    assert_eq!(
        (lost.unknown_frees, lost.untracked_blocks),
        (0, 0),
        "{lost:?}"
    );
}
