//! Large blocks that slices keep, such as a `Bytes` of twelve bytes.

use super::at_moment::{AtMoment, blocks_of};
use super::finding::{Confidence, Finding, Kind};
use super::group::Group;
use crate::units::{Bytes, Share};

/// Slices that cover more than one byte in this number keep no small part.
const SMALL: u64 = 4;

/// Returns the finding for a group of large blocks.
pub(super) fn find(at: &AtMoment<'_>, group: &Group) -> Option<Finding> {
    let figures = at.figures(group);
    let (bytes, slices) = (figures.sliced_bytes, figures.slice_bytes);
    if bytes == 0 || slices > bytes / SMALL {
        return None;
    }
    let finding = at.finding(Kind::HeldBySmallPart, group);
    Some(Finding {
        saves_bytes: bytes - slices,
        saves_blocks: 0,
        of_bytes: figures.bytes,
        // Slices that overlap would be copied twice, and code may compute other addresses.
        confidence: Confidence::Estimate,
        evidence: vec![
            ("sliced_blocks", figures.sliced_blocks),
            ("sliced_bytes", bytes),
            ("referenced_bytes", slices),
        ],
        why: format!(
            "Only {} of {} in {} is referenced, {}.",
            Share::of(slices, bytes),
            Bytes(bytes),
            blocks_of(figures.sliced_blocks, group),
            Bytes(slices),
        ),
        remedy:
            "Copy the part that is needed, such as with `Bytes::copy_from_slice`, and drop the \
            whole block."
                .to_owned(),
        ..finding
    })
}
