//! Blocks of an `Rc` or `Arc` whose value was dropped, and which only `Weak` pointers keep.
//!
//! The value and its two counts are one block. When the last strong reference goes, the value is
//! dropped, but the block stays as long as there is a `Weak`.

use super::at_moment::{AtMoment, blocks_of};
use super::finding::{Confidence, Finding, Kind};
use super::group::{Group, constructor};
use crate::containers::inside_option;
use crate::units::Count;

/// Returns the finding for a group of blocks that are shared.
pub(super) fn find(at: &AtMoment<'_>, group: &Group) -> Option<Finding> {
    let figures = at.figures(group);
    if figures.dropped_blocks == 0 {
        return None;
    }
    let (full, _) = group.container(at.profile)?;
    let pointer = constructor(inside_option(full));
    let remedy = if at.can_change(group) {
        format!(
            "Drop the `Weak` pointers whose value is gone, such as by \
             `retain(|weak| weak.strong_count() > 0)` on what holds them. If they must stay, keep \
             the value in a `Box` inside the `{pointer}`."
        )
    } else {
        "A library made these blocks: drop the `Weak` pointers that it gave out, or look for a \
         call that purges what it holds."
            .to_owned()
    };
    let finding = at.finding(Kind::KeptByWeak, group);
    Some(Finding {
        saves_bytes: figures.dropped_bytes,
        saves_blocks: figures.dropped_blocks,
        of_bytes: figures.bytes,
        confidence: Confidence::Exact,
        evidence: vec![
            ("dropped_blocks", figures.dropped_blocks),
            ("dropped_bytes", figures.dropped_bytes),
            ("blocks", figures.blocks),
        ],
        why: format!(
            "{} of {} hold a value that was dropped; only `Weak` pointers keep them.",
            Count(figures.dropped_blocks),
            blocks_of(figures.blocks, group),
        ),
        remedy,
        ..finding
    })
}
