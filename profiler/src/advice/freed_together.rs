//! Blocks that were all live at once and are all gone: an arena makes one block of them.
//!
//! Where no block was freed before the last one was made, an arena holds nothing that was freed, so
//! it takes no more than the blocks did.

use super::finding::{Confidence, Finding, Kind};
use super::group::{Group, constructor, sum};
use super::methods::fits_arena;
use crate::profile::{Measure, Profile};
use crate::units::{Bytes, Count, printable};

/// An arena is not worth its lifetimes for fewer blocks.
const LEAST_BLOCKS: u64 = 1000;

/// Returns `true` if the blocks went one by one for so long that two checkpoints saw some of them
/// gone and others live. One checkpoint may lie in any loop that frees.
fn is_drained(live: &[u64]) -> bool {
    let mut most = 0;
    let falling = live.iter().filter(|&&live| {
        most = most.max(live);
        live > 0 && live < most
    });
    falling.count() > 1
}

/// Returns the finding for a group, if its blocks take at least so many bytes and were all live at
/// the peak.
pub(super) fn find(profile: &Profile, group: &Group, least_bytes: u64) -> Option<Finding> {
    let (full, _) = group.container(profile)?;
    if !fits_arena(full) {
        return None;
    }
    if !profile.capture().is_exact() || group.own_sites(profile).count() < group.sites.len() {
        return None;
    }
    let figures = sum(group.sites(profile));
    let (blocks, bytes) = (figures.total_blocks, figures.total_bytes);
    // A block that grows leaves its old place in an arena empty.
    let is_reallocated = figures.grows > 0 || figures.shrinks > 0;
    let were_all_live = figures.peak_blocks == blocks && figures.peak_bytes == bytes;
    if is_reallocated || !were_all_live || figures.live_blocks > 0 {
        return None;
    }
    if blocks < LEAST_BLOCKS || bytes < least_bytes {
        return None;
    }
    // The rows of a peak between threads may miss that a block was freed just before.
    let sizes = profile.distribution(&group.sites);
    let (smallest, _) = sizes.classes().next()?;
    if profile.capture().peak_error_bytes >= (*smallest.start()).max(1) {
        return None;
    }
    if is_drained(&profile.live_bytes_at_checkpoints(&group.sites)) {
        return None;
    }
    let name = constructor(full);
    Some(Finding {
        kind: Kind::FreedTogether,
        saves_bytes: 0,
        saves_blocks: blocks - 1,
        of_bytes: bytes,
        measure: Measure::Total,
        snapshot: None,
        holder: None,
        alternative_to: None,
        confidence: Confidence::Exact,
        place: group.place.clone(),
        evidence: vec![("blocks", blocks), ("bytes", bytes)],
        why: format!(
            "All {} blocks of {} were live at once, {} together, and none is left.",
            Count(blocks),
            group
                .place
                .type_name
                .as_deref()
                .map_or_else(|| name.clone(), |name| printable(name).into_owned()),
            Bytes(bytes),
        ),
        remedy: format!(
            "Make them in an arena, such as a `bumpalo::Bump` with a capacity of {}: one block, \
             freed at once. An arena drops no values, so they must own nothing outside of it.",
            Bytes(bytes),
        ),
    })
}
