//! Values that equal another one.
//!
//! Only values that nobody changes can be shared: texts, what is shared already, and lists of the
//! program's own structs. Two lists of numbers or of zeros are equal too, and may be scratch memory
//! of two threads. What code may change through a shared reference, such as a counter, equals
//! nothing in a snapshot.

use super::at_moment::{AtMoment, blocks_of};
use super::finding::{Confidence, Finding, Kind};
use super::group::Group;
use crate::profile::TypeKind;
use crate::snapshot::SiteFigures;
use crate::units::{Count, counted};

/// Bytes that a shared value needs beside itself: the two counts of an `Arc<str>`.
const COUNTS: u64 = 16;

/// Returns the finding for a group of values.
pub(super) fn find(at: &AtMoment<'_>, group: &Group) -> Option<Finding> {
    if !at.can_change(group) {
        return None;
    }
    let figures = at.figures(group);
    let (_, kind) = group.container(at.profile)?;
    match kind {
        TypeKind::Text => values(
            at,
            group,
            &figures,
            COUNTS,
            "Keep one copy of each and share it, such as an `Arc<str>` that a `HashSet<Arc<str>>` \
             gives out while the data is read, or number the texts.",
        ),
        TypeKind::Shared => values(
            at,
            group,
            &figures,
            0,
            "Look each value up before another one is made, and clone the one that is there.",
        ),
        TypeKind::Sequence => lists(at, group, &figures),
        _ => None,
    }
}

/// Returns the finding for values of one block each, of which one that is shared needs some bytes
/// more.
fn values(
    at: &AtMoment<'_>,
    group: &Group,
    figures: &SiteFigures,
    cost: u64,
    remedy: &str,
) -> Option<Finding> {
    if figures.repeated_blocks == 0 {
        return None;
    }
    let distinct = figures.blocks.saturating_sub(figures.repeated_blocks);
    let cost = distinct.saturating_mul(cost);
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
            distinct_ones(distinct),
        ),
        remedy: remedy.to_owned(),
        ..finding
    })
}

/// Returns the finding for lists of structs of the program. What a list owns goes with it.
fn lists(at: &AtMoment<'_>, group: &Group, figures: &SiteFigures) -> Option<Finding> {
    let site = group.sites(at.profile).next()?;
    let element = at.profile.named_type(site.contents?.element)?;
    let krate = element.full.split("::").next().unwrap_or_default();
    let repeated = figures.repeated_lists;
    if repeated == 0 || !at.own.contains(krate) {
        return None;
    }
    let distinct = figures.blocks.saturating_sub(repeated);
    let cost = distinct.saturating_mul(COUNTS);
    let saves_bytes = figures.repeated_list_bytes.saturating_sub(cost);
    if saves_bytes == 0 {
        return None;
    }
    let held = figures.repeated_list_blocks.saturating_sub(repeated);
    let with = match held {
        0 => String::new(),
        _ => format!(", with {} that they hold", counted(held, "block")),
    };
    let finding = at.finding(Kind::DuplicateContent, group);
    Some(Finding {
        saves_bytes,
        saves_blocks: figures.repeated_list_blocks,
        of_bytes: figures.bytes.max(figures.repeated_list_bytes),
        // They may be changed one by one later.
        confidence: Confidence::Estimate,
        evidence: vec![
            ("repeated_blocks", repeated),
            ("repeated_bytes", figures.repeated_list_bytes),
            ("held_blocks", held),
            ("distinct_blocks", distinct),
        ],
        why: format!(
            "{} of {} equal another one{with}{}.",
            Count(repeated),
            blocks_of(figures.blocks, group),
            distinct_ones(distinct),
        ),
        remedy: "If they are not changed one by one later, keep one of each and share it as an \
                 `Arc<[_]>`, such as from a map that is asked before another one is made."
            .to_owned(),
        ..finding
    })
}

fn distinct_ones(distinct: u64) -> String {
    match distinct {
        0 => ", which other code allocated".to_owned(),
        _ => format!("; {} are distinct", Count(distinct)),
    }
}
