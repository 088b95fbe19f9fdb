//! Live bytes that grow until the end of the recording.
//!
//! A program that loads its data grows too. So growth counts only if it goes on at every one of the
//! last checkpoints, does not slow down, and nothing is freed at the end.

use super::finding::{Confidence, Finding, Kind};
use super::group::{Group, sum};
use crate::profile::{Measure, Profile};
use crate::units::{Bytes, Nanos};

/// Number of moments that must show growth: checkpoints, and the end.
const MOMENTS: usize = 8;

/// A shorter recording shows a program that starts, nanoseconds.
const SHORTEST_NS: u64 = 1_000_000_000;

/// Returns the finding for a group, if its live bytes grow.
pub(super) fn find(profile: &Profile, group: &Group) -> Option<Finding> {
    if profile.process.duration_ns < SHORTEST_NS {
        return None;
    }
    let figures = sum(group.sites(profile));
    let mut live = profile.live_bytes_at_checkpoints(&group.sites);
    live.push(figures.live_bytes);
    let first = live.len().checked_sub(MOMENTS)?;
    let start_ns = profile.checkpoints.get(first)?.time_ns;
    let live = live.get(first..)?;
    let (from, until) = (*live.first()?, *live.last()?);
    let middle = *live.get(MOMENTS / 2)?;
    // The end may come right after the last checkpoint.
    let (end, at_checkpoints) = live.split_last()?;
    let mut pairs = at_checkpoints.windows(2);
    let has_grown = pairs.all(|pair| pair[1] > pair[0]) && end >= at_checkpoints.last()?;
    let middle_ns = profile.checkpoints.get(first + MOMENTS / 2)?.time_ns;
    let end_ns = profile.process.duration_ns;
    // Growth comes in steps, so half of the speed is still no slower.
    let product = |bytes: u64, ns: u64| u128::from(bytes) * u128::from(ns);
    let (grew_first, took_first) = (
        middle.saturating_sub(from),
        middle_ns.saturating_sub(start_ns),
    );
    let (grew_then, took_then) = (
        until.saturating_sub(middle),
        end_ns.saturating_sub(middle_ns),
    );
    let goes_on = product(grew_then, took_first) >= product(grew_first, took_then) / 2;
    if !has_grown || !goes_on || figures.live_blocks < 2 {
        return None;
    }
    let grown = until - from;
    let span = end_ns.saturating_sub(start_ns);
    let blocks = u128::from(figures.live_blocks) * u128::from(grown) / u128::from(until.max(1));
    Some(Finding {
        kind: Kind::Growing,
        saves_bytes: grown,
        saves_blocks: u64::try_from(blocks).unwrap_or(u64::MAX),
        of_bytes: figures.live_bytes,
        measure: Measure::Live,
        snapshot: None,
        holder: None,
        confidence: Confidence::AtLeast,
        place: group.place.clone(),
        evidence: vec![
            ("from_bytes", from),
            ("until_bytes", until),
            ("checkpoints", MOMENTS as u64 - 1),
            ("span_ns", span),
        ],
        why: format!(
            "Live bytes grew from {} to {} in the last {}, at every checkpoint.",
            Bytes(from),
            Bytes(until),
            Nanos(span)
        ),
        remedy: format!(
            "Remove what is no longer needed, or limit the collection to the {} that it had.",
            Bytes(from)
        ),
    })
}
