//! Usable bytes that the allocator adds to what was requested, at the moment of a snapshot.

use super::at_moment::{AtMoment, blocks_of};
use super::finding::{Confidence, Finding, Kind};
use super::group::Group;
use crate::units::{Bytes, Share, printable};

/// The smallest part of the requested bytes that is worth another size. The classes of most
/// allocators are a fifth apart.
const PART: u64 = 4;

/// Returns the finding for a group whose blocks fill their size classes badly.
pub(super) fn find(at: &AtMoment<'_>, group: &Group) -> Option<Finding> {
    let figures = at.figures(group);
    let added = figures.rounding_bytes;
    if added < figures.bytes / PART || added == 0 {
        return None;
    }
    let usable = at.snapshot.usable();
    // Snapshots of earlier versions do not name the allocator.
    let name = usable.map_or(&at.profile.capture.allocator, |usable| &usable.allocator);
    let finding = at.finding(Kind::AllocatorRounding, group);
    Some(Finding {
        saves_bytes: added,
        of_bytes: figures.bytes,
        // A block may have more than its class, where an allocator does not split what is left.
        confidence: Confidence::AtLeast,
        evidence: vec![
            ("rounding_bytes", added),
            ("requested_bytes", figures.bytes),
            ("blocks", figures.blocks),
        ],
        why: format!(
            "{} adds {} ({}) to the {} that {} asked for, {} each on average. These bytes are \
             usable, but no live bytes.",
            printable(name),
            Bytes(added),
            Share::of(added, figures.bytes),
            Bytes(figures.bytes),
            blocks_of(figures.blocks, group),
            Bytes(added / figures.blocks.max(1)),
        ),
        remedy: "Make the values a little smaller, so that they fit the size class below, or keep \
            many of them in one block: in a list, or in an arena."
            .to_owned(),
        ..finding
    })
}
