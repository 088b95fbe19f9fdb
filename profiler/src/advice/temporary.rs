//! Blocks that are freed at once: their thread freed them before it allocated another one.
//!
//! The saving keeps, for each thread and site, one buffer as large as the largest block.

use super::finding::{Confidence, Finding, Kind};
use super::group::{Group, constructor, is_formatted, sum};
use super::methods::keeps_its_block;
use crate::profile::{Measure, Profile, Site};
use crate::units::counted;

/// Fewer temporary blocks of one site are no loop.
const LOOP: u64 = 16;

/// Returns the finding for a group, if its blocks are freed at once in a loop.
pub(super) fn find(profile: &Profile, group: &Group) -> Option<Finding> {
    let (full, _) = group.container(profile)?;
    if !keeps_its_block(full) {
        return None;
    }
    let name = constructor(full);
    let sites: Vec<&Site> = group
        .own_sites(profile)
        .filter(|site| site.figures.temporary_blocks >= LOOP)
        .collect();
    let figures = sum(sites.iter().copied());
    // Each thread needs a buffer of its own at each site, as large as the largest block.
    let threads = profile.threads().iter().map(|thread| thread.count);
    let threads = threads.fold(0, u64::saturating_add).max(1);
    let (mut saves_bytes, mut saves_blocks, mut largest) = (0_u64, 0_u64, 0);
    let mut confidence = Confidence::Exact;
    for site in &sites {
        // Where no size is known, no buffer is known to be large enough.
        let Some((sizes, _)) = site.distribution.classes().last() else {
            continue;
        };
        let buffers = sizes.end().saturating_mul(threads);
        let temporary = site.figures.temporary_bytes;
        saves_bytes = saves_bytes.saturating_add(temporary.saturating_sub(buffers));
        let blocks = site.figures.temporary_blocks.saturating_sub(threads);
        saves_blocks = saves_blocks.saturating_add(blocks);
        largest = largest.max(*sizes.end());
        let is_one_size =
            sizes.start() == sizes.end() && site.distribution.numbered_classes().len() == 1;
        if !is_one_size || threads > 1 {
            confidence = Confidence::AtLeast;
        }
    }
    if saves_bytes == 0 {
        return None;
    }
    let remedy = if sites.iter().any(|site| is_formatted(profile, site)) {
        "Keep one `String` outside the loop: `clear()` it and `write!` into it.".to_owned()
    } else {
        format!(
            "Keep one `{name}` outside the loop and `clear()` it, or borrow instead of making a copy."
        )
    };
    Some(Finding {
        kind: Kind::Temporary,
        saves_bytes,
        saves_blocks,
        of_bytes: sum(group.sites(profile)).total_bytes,
        measure: Measure::Total,
        snapshot: None,
        holder: None,
        alternative_to: None,
        confidence,
        place: group.place.clone(),
        evidence: vec![
            ("temporary_blocks", figures.temporary_blocks),
            ("temporary_bytes", figures.temporary_bytes),
            ("largest_block_bytes", largest),
            ("threads", threads),
        ],
        why: format!(
            "{} were freed before the thread's next allocation.",
            counted(figures.temporary_blocks, "block")
        ),
        remedy,
    })
}
