//! Usable bytes that the allocator adds to what was requested, at the moment of a snapshot.

use super::at_moment::{AtMoment, blocks_of};
use super::finding::{Confidence, Finding, Kind};
use super::group::Group;
use crate::allocator::Allocator;
use crate::profile::TypeKind;
use crate::units::{Bytes, Share, printable};

/// The smallest part of the requested bytes that is worth another size. The classes of most
/// allocators are a fifth apart.
const PART: u64 = 4;

/// The smallest size class of an allocator.
struct Smallest {
    bytes: u64,
    /// If the usable bytes of blocks have a smaller mean, most of the blocks are of this class:
    /// the middle between it and the next.
    most_are_below: u64,
}

/// Returns the smallest class of the allocator with that name. Smaller values do not fit in a
/// smaller one.
fn smallest(name: &str) -> Option<Smallest> {
    let allocator = Allocator::of_name(name)?;
    let bytes = allocator.usable_bytes(1)?;
    let next = allocator.usable_bytes(bytes + 1)?;
    Some(Smallest {
        bytes,
        most_are_below: bytes.midpoint(next),
    })
}

/// Returns the finding for a group whose blocks fill their size classes badly.
pub(super) fn find(at: &AtMoment<'_>, group: &Group) -> Option<Finding> {
    let figures = at.figures(group);
    let added = figures.rounding_bytes;
    if added < figures.bytes / PART || added == 0 {
        return None;
    }
    let usable = at.snapshot.usable();
    // Snapshots of earlier versions do not name the allocator.
    let name = usable.map_or(&at.profile.capture().allocator, |usable| &usable.allocator);
    let blocks = figures.blocks.max(1);
    let mean = figures.bytes.saturating_add(added) / blocks;
    let class = usable.and_then(|usable| smallest(&usable.allocator));
    let is_shared = at.kind(group) == TypeKind::Shared;
    let remedy = match class.filter(|class| mean < class.most_are_below) {
        _ if is_shared => {
            "Each counted pointer needs a block of its own, so share a list of the values, or keep \
             them in a list and refer to them by number."
                .to_owned()
        }
        Some(class) => format!(
            "A block of {} has at least {}, so keep many of the values in one block: in a list, or \
             in an arena.",
            printable(name),
            Bytes(class.bytes)
        ),
        None => "Make the values a little smaller, so that they fit the size class below, or keep \
            many of them in one block: in a list, or in an arena."
            .to_owned(),
    };
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
            "{} asked for {}, {} each on average. {} adds {} to each on average, {} ({}) in \
             total. These bytes are usable, but are not live bytes.",
            blocks_of(figures.blocks, group),
            Bytes(figures.bytes),
            Bytes(figures.bytes / blocks),
            printable(name),
            Bytes(added / blocks),
            Bytes(added),
            Share::of(added, figures.bytes),
        ),
        remedy,
        ..finding
    })
}
