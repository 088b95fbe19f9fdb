//! Equal lists of records: what is predicted is what a program without them has less.

use super::*;
use crate::snapshot::SiteFigures;

const RECORDS: &str = include_str!("programs/records.rs");
/// Tables, and those of them that differ.
const TABLES: u64 = 70;
const DISTINCT: u64 = 7;

/// Returns the figures of all blocks.
fn figures(flags: &[&str]) -> SiteFigures {
    let run = Run::new(RECORDS, TABLES as usize, flags);
    let (analysis, layouts) = run.analysed(run.dump.heap(), &[]);
    assert!(layouts.notes().is_empty(), "{:?}", layouts.notes());
    analysis.by_site().remove(&0).expect("figures")
}

fn assert_true(level: &str) {
    let before = figures(&[level]);
    let after = figures(&[level, "--cfg", "remedy"]);
    // Half of the lists have two pages, and half have three. The first two pages are in both.
    assert_eq!(after.repeated_lists, TABLES - 2 + 2, "{level}");
    let (lists, blocks, bytes) = (
        before.repeated_lists - after.repeated_lists,
        before.repeated_list_blocks - after.repeated_list_blocks,
        before.repeated_list_bytes - after.repeated_list_bytes,
    );
    assert_eq!(lists, TABLES - DISTINCT, "{level}");
    assert_eq!(blocks, before.blocks - after.blocks, "{level}");
    // Each shared table has two counts. A pointer to one is eight bytes smaller than a list.
    let (counts, places) = (16 * DISTINCT, 8 * TABLES);
    let saved = before.bytes - after.bytes + counts - places;
    // One with unused capacity may be the first of its kind.
    let spare = DISTINCT * 4 * 96;
    assert!(bytes.abs_diff(saved) <= spare, "{level}: {bytes} {saved}");
}

#[test]
fn equal_lists_of_records_are_found_whatever_their_padding_is() {
    assert_true("-Copt-level=0");
}

#[test]
fn equal_lists_of_records_are_found_in_optimized_code() {
    assert_true("-Copt-level=2");
}
