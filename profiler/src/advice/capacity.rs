//! Capacity that holds nothing, at the moment of a snapshot: `unused_capacity`, `empty_container`.

use super::at_moment::{AtMoment, Form, blocks_of};
use super::finding::{Confidence, Finding, Kind};
use super::group::{Group, calls, constructor};
use super::methods::{exact_type, shrinks};
use crate::profile::Profile;
use crate::units::{Bytes, Count, Share};

/// Returns the finding for the containers of a group that hold something.
///
/// A list that shrinks keeps its elements: the block becomes smaller by its unused capacity. A
/// table keeps a power of two of buckets, of which some are free. If the heap grew on after the
/// snapshot, a list may have been filled further.
pub(super) fn find_unused(at: &AtMoment<'_>, group: &Group) -> Option<Finding> {
    let figures = at.figures(group);
    let saves_bytes = match at.form(group) {
        Form::List => figures.unused_bytes.saturating_sub(figures.empty_bytes),
        Form::Table => figures.table_shrinks_bytes,
        Form::Other => 0,
    };
    if saves_bytes == 0 {
        return None;
    }
    let blocks = figures.blocks.saturating_sub(figures.empty_blocks);
    let bytes = figures.known_bytes.saturating_sub(figures.empty_bytes);
    let finding = at.finding(Kind::UnusedCapacity, group);
    Some(Finding {
        saves_bytes,
        of_bytes: figures.bytes,
        confidence: if at.heap_grew_on() {
            Confidence::Estimate
        } else {
            Confidence::Exact
        },
        evidence: vec![
            ("unused_bytes", figures.unused_bytes),
            ("known_bytes", figures.known_bytes),
            ("blocks", blocks),
        ],
        why: format!(
            "{} of {} in {} is unused capacity that shrinking saves.",
            Share::of(saves_bytes, bytes),
            Bytes(bytes),
            blocks_of(blocks, group),
        ),
        remedy: shrinking(at, group),
        ..finding
    })
}

fn shrinking(at: &AtMoment<'_>, group: &Group) -> String {
    let full = container(at.profile, group);
    let name = constructor(full);
    if !at.can_call(group) {
        return format!(
            "A library fills this {name}: give it the capacity that is needed if it takes one, or \
             look for a limit of the library."
        );
    }
    if !shrinks(full) {
        return format!(
            "Make the {name} with the capacity that is needed, or copy what it holds into a new one \
             once it is filled."
        );
    }
    let fixed = exact_type(full).map_or_else(String::new, |of| format!(", or keep it as `{of}`"));
    if has_capacity(at.profile, group) {
        format!(
            "Give `with_capacity` the length that is needed, or `shrink_to_fit()` the {name} once it \
             is filled{fixed}."
        )
    } else {
        format!("`shrink_to_fit()` the {name} once it is filled{fixed}.")
    }
}

/// Returns the finding for the containers of a group that hold nothing.
pub(super) fn find_empty(at: &AtMoment<'_>, group: &Group) -> Option<Finding> {
    let figures = at.figures(group);
    if figures.empty_bytes == 0 || at.form(group) == Form::Other {
        return None;
    }
    let full = container(at.profile, group);
    let name = constructor(full);
    let remedy = if !at.can_call(group) {
        format!(
            "A library made this {name}: look for an option that frees it while it is not used, or \
             a smaller initial capacity."
        )
    } else if !shrinks(full) {
        format!("Put an empty {name} in its place when it was emptied, such as with `mem::take`.")
    } else if has_capacity(at.profile, group) {
        format!(
            "Make it with `{name}::new()`, which allocates nothing, and reserve when the first \
             element comes. If it was emptied, `shrink_to_fit()` it."
        )
    } else {
        format!(
            "`shrink_to_fit()` the {name} when it was emptied, or take it out with \
             `std::mem::take`."
        )
    };
    let finding = at.finding(Kind::EmptyContainer, group);
    Some(Finding {
        saves_bytes: figures.empty_bytes,
        saves_blocks: figures.empty_blocks,
        of_bytes: figures.bytes,
        evidence: vec![
            ("empty_blocks", figures.empty_blocks),
            ("empty_bytes", figures.empty_bytes),
            ("blocks", figures.blocks),
        ],
        why: format!(
            "{} of {} held nothing.",
            Count(figures.empty_blocks),
            blocks_of(figures.blocks, group),
        ),
        remedy,
        ..finding
    })
}

/// Returns the full name of a group's container.
fn container<'a>(profile: &'a Profile, group: &Group) -> &'a str {
    let found = group.container(profile);
    found.map_or("container", |(full, _)| full)
}

fn has_capacity(profile: &Profile, group: &Group) -> bool {
    let mut sites = group.sites(profile);
    sites.any(|site| calls(profile, site, "with_capacity"))
}
