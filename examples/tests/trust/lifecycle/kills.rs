//! A program with four threads that write everything is killed at random moments. Its recording
//! always opens, and its rows always add up.

use crate::common::{Target, files};
use heapglass_examples::{data::Random, recorded};
use heapglass_limits::rounds;
use std::io::Read;
use std::process::Stdio;
use std::time::Duration;
use tracking_alloc_recording::Recording;

const THREADS: u64 = 4;
/// The largest single event of the program: a chunk of an arena, a resized block, a page of a list.
const LARGEST: u64 = 64 << 10;

#[test]
fn a_program_killed_while_it_writes_everything_leaves_a_recording_that_adds_up() {
    let kills = rounds(40, 500);
    let random = &mut Random::new(2_000);
    let (mut read, mut before, mut most_apart) = (0, 0, 0);
    for kill in 0..kills {
        let mut target = Target::case(&["everything-forever"]);
        let mut child = target
            .command
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        // Every eighth program is killed while it starts, the others while they work, however long
        // a busy machine takes to start them.
        if !kill.is_multiple_of(8) {
            let mut begun = [0; 6];
            let mut output = child.stdout.take().expect("a pipe");
            output.read_exact(&mut begun).expect("it begins");
        }
        std::thread::sleep(Duration::from_micros(random.below(20_000) as u64));
        child.kill().expect("killed");
        child.wait().expect("gone");
        match Recording::open(&target.recording()) {
            Ok(recording) => {
                read += 1;
                most_apart = most_apart.max(assert_adds_up(&recording));
            }
            Err(error) => {
                assert!(
                    error.is_io(),
                    "kill {kill}: {error}; the folder holds {:?}",
                    files(target.folder.path())
                );
                before += 1;
            }
        }
    }
    println!(
        "{kills} kills: {read} recordings read, {before} killed before there was one, 0 unreadable; at most {most_apart} \
         events in flight"
    );
    assert!(
        read > kills * 3 / 4,
        "only {read} of {kills} had begun to record"
    );
}

/// Checks that rows of sites add up to rows of lanes, except for the one event in progress in each
/// thread. Returns the number of those events.
fn assert_adds_up(recording: &Recording) -> u64 {
    assert_eq!(recording.damage, 0);
    let (sites, lanes) = (
        recorded::sums(recording),
        recorded::sums_of_lanes(recording),
    );
    let apart = [
        (sites.total_blocks, lanes.total_blocks, 1),
        (sites.freed_blocks, lanes.freed_blocks, 1),
        (sites.total_bytes, lanes.total_bytes, LARGEST),
        (sites.freed_bytes, lanes.freed_bytes, LARGEST),
    ];
    for (sites_have, lanes_have, each) in apart {
        assert!(
            sites_have.abs_diff(lanes_have) <= THREADS * each,
            "{sites:?} {lanes:?}"
        );
    }
    // The report shows the sum of its rows. No row may name a scope or stack that does not exist.
    for site in &recording.sites {
        assert!((site.scope as usize) < recording.scopes.len());
        assert!((site.stack as usize) < recording.stacks.len());
    }
    sites.total_blocks.abs_diff(lanes.total_blocks)
}
