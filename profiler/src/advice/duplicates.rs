//! Values that equal another one.
//!
//! Only values that nobody changes can be shared: texts, and what is shared already. Two lists of
//! zeros are equal too, and may be scratch memory of two threads. What code may change through a
//! shared reference, such as a counter, equals nothing in a snapshot.

use super::at_moment::{AtMoment, blocks_of};
use super::finding::{Confidence, Finding, Kind};
use super::group::Group;
use crate::profile::TypeKind;
use crate::units::Count;

/// Bytes that one shared text needs beside its text: the two counts of an `Arc<str>`.
const COUNTS: u64 = 16;

/// Returns the finding for a group of values.
pub(super) fn find(at: &AtMoment<'_>, group: &Group) -> Option<Finding> {
    let figures = at.figures(group);
    if figures.repeated_blocks == 0 || !at.can_change(group) {
        return None;
    }
    let distinct = figures.blocks.saturating_sub(figures.repeated_blocks);
    let (_, kind) = group.container(at.profile)?;
    let (cost, remedy) = match kind {
        TypeKind::Text => (
            distinct.saturating_mul(COUNTS),
            "Keep one copy of each and share it, such as an `Arc<str>` that a `HashSet<Arc<str>>` \
             gives out while the data is read, or number the texts.",
        ),
        TypeKind::Shared => (
            0,
            "Look each value up before another one is made, and clone the one that is there.",
        ),
        _ => return None,
    };
    let saves_bytes = figures.repeated_bytes.saturating_sub(cost);
    if saves_bytes == 0 {
        return None;
    }
    let finding = at.finding(Kind::DuplicateContent, group);
    Some(Finding {
        saves_bytes,
        saves_blocks: figures.repeated_blocks,
        of_bytes: figures.bytes,
        // The others may equal a value of another site, which would have to be shared too.
        confidence: Confidence::Estimate,
        evidence: vec![
            ("repeated_blocks", figures.repeated_blocks),
            ("repeated_bytes", figures.repeated_bytes),
            ("distinct_blocks", distinct),
        ],
        why: format!(
            "{} of {} equal another one{}.",
            Count(figures.repeated_blocks),
            blocks_of(figures.blocks, group),
            match distinct {
                0 => ", which other code allocated".to_owned(),
                _ => format!("; {} are distinct", Count(distinct)),
            },
        ),
        remedy: remedy.to_owned(),
        ..finding
    })
}
