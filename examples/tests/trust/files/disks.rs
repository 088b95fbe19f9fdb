//! Full disks, limits, and exhausted descriptors: the recording is complete whatever it was
//! refused.

use super::images::Mounted;
use crate::common::{Target, assert_consistent, files, number};
use heapglass_examples::recorded;
use std::path::Path;
use tracking_alloc_recording::{Recording, growth, state};

/// Opens the recording of a program that ended normally after growth was refused. It must be
/// complete, have the stated length, and contain every block.
fn assert_whole(path: &Path, printed: &str, what: &str) -> Recording {
    let recording = Recording::open(path).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(recording.header.state, state::FINISHED, "{what}");
    assert_ne!(recording.header.checksum, 0, "{what}");
    assert_eq!(
        recording.header.file_bytes,
        path.metadata().expect("it is there").len(),
        "{what}: what was refused is given back"
    );
    assert_consistent(&recording);
    let sums = recorded::sums(&recording);
    assert!(sums.total_bytes >= number(printed, "total_bytes"), "{what}");
    recording
}

fn table_full_blocks(recording: &Recording) -> u64 {
    let lanes = recording.lanes.iter();
    lanes.map(|lane| lane.table_full.total_blocks).sum()
}

fn end_in_order_on_a_full_disk(kind: &str, mebibytes: u64) {
    let Some(disk) = Mounted::new(kind, mebibytes) else {
        return;
    };
    let mut filled = 0;
    for free_kib in [1_500, 2_200, 2_500, 2_700, 3_000, 3_300, 3_600, 4_000] {
        let what = format!("{kind} with {free_kib} KiB free");
        let other = disk.fill_up_to(free_kib << 10);
        let path = disk.path().join("out.hg");
        let mut target = Target::case(&["many-sites", "40000"])
            .env("HEAPGLASS_OUT", path.to_str().expect("text"));
        let output = target.run();
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(7), "{what}: {text}");
        if text.contains("not recording") {
            // A file system keeps some of its last blocks for its own use.
            assert!(free_kib < 3_000, "{what}: {text}");
            let left = files(disk.path());
            assert!(
                !left.iter().any(|name| name.contains("out")),
                "{what}: {left:?}"
            );
        } else {
            let printed = String::from_utf8_lossy(&output.stdout);
            let recording = assert_whole(&path, &printed, &what);
            // NOTE: not `growth_ended`, because a journal frees blocks late, and then growth
            // resumes.
            assert_eq!(recording.header.growth_errno, libc::ENOSPC as u32, "{what}");
            filled += 1;
            std::fs::remove_file(&path).expect("removed");
        }
        std::fs::remove_file(other).expect("removed");
    }
    println!("{kind}: {filled} recordings filled the disk");
    assert!(filled >= 4, "only {filled}");
}

#[test]
fn a_program_that_ends_in_order_on_a_full_ext4_leaves_a_whole_recording() {
    end_in_order_on_a_full_disk("ext4", 24);
}

#[test]
fn a_program_that_ends_in_order_on_a_full_xfs_leaves_a_whole_recording() {
    end_in_order_on_a_full_disk("xfs", 320);
}

#[test]
fn a_program_that_ends_in_order_under_a_limit_of_address_space_leaves_a_whole_recording() {
    let (mut began, mut refused) = (0, 0);
    for mebibytes in (256..=368).step_by(8) {
        let mut target =
            Target::case(&["files-short-of-memory"]).limit(libc::RLIMIT_AS, mebibytes << 20);
        let output = target.run();
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(7), "{mebibytes} MiB: {text}");
        if text.contains("not recording") {
            assert_eq!(files(target.folder.path()), Vec::<String>::new());
            continue;
        }
        began += 1;
        let printed = String::from_utf8_lossy(&output.stdout);
        let recording = assert_whole(
            &target.recording(),
            &printed,
            &format!("{mebibytes} MiB of address space"),
        );
        refused += u32::from(recording.header.growth_ended == growth::NO_MEMORY);
    }
    println!("{began} began to record, {refused} were refused memory meanwhile");
    assert!(began > 0 && refused > 0);
}

/// The number of sites that `files-descriptors` and `files-cleared` visit twice.
const EARLY: u64 = 1 << 13;

/// Checks that growth was refused for a while and then resumed: sites visited meanwhile have rows
/// of their own at the end, and the events counted without a row are reported.
fn assert_recovered(path: &Path, printed: &str, errno: i32) {
    let recording = assert_whole(path, printed, "after the refusal");
    let header = &recording.header;
    assert_eq!(header.growth_ended, growth::OPEN, "growth goes on");
    assert_eq!(header.growth_errno, errno as u32, "and was refused before");
    let full = table_full_blocks(&recording);
    assert!(full > 0, "something found no room meanwhile");
    let counted = recorded::sums_in_scope(&recording, "early").total_blocks;
    assert!(
        counted + full >= 2 * EARLY && counted > EARLY,
        "{counted} blocks at their sites, {full} at (table full)"
    );
    let early = |site: u32| {
        let scope = recording.sites[site as usize].scope;
        let name = recording.string(recording.scopes[scope as usize].name);
        name.as_deref() == Some("early")
    };
    let rows = recording.lanes.iter().flat_map(|lane| &lane.rows);
    let sites = rows.filter(|row| early(row.site)).count() as u64;
    assert!(
        sites >= EARLY,
        "{sites} of {EARLY} sites have a row in the end"
    );
    println!("{full} of {} blocks at (table full)", 2 * EARLY);
    // Blocks that were counted at "(table full)" are freed there.
    let column = &recording.lanes[0];
    assert!(column.table_full.freed_blocks <= column.table_full.total_blocks);
    for row in &column.rows {
        assert!(row.freed_blocks <= row.total_blocks, "{row:?}");
    }
    assert!(column.table_full.freed_blocks > 0);
}

#[test]
fn growth_goes_on_when_there_are_descriptors_again() {
    let mut target = Target::case(&["files-descriptors"]);
    let printed = target.ends_with(7);
    assert_recovered(&target.recording(), &printed, libc::EMFILE);
}

#[test]
fn growth_goes_on_when_the_disk_has_room_again() {
    let Some(disk) = Mounted::new("ext4", 24) else {
        return;
    };
    let other = disk.fill_up_to(2_300 << 10);
    let path = disk.path().join("out.hg");
    let mut target = Target::case(&["files-cleared", other.to_str().expect("text")])
        .env("HEAPGLASS_OUT", path.to_str().expect("text"));
    let printed = target.ends_with(7);
    assert_recovered(&path, &printed, libc::ENOSPC);
}
