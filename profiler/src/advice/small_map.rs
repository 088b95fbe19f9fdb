//! Maps of a few entries, where a list would do.

use super::at_moment::{AtMoment, Form, bytes_of};
use super::finding::{Confidence, Finding, Kind};
use super::group::{Group, sum};
use super::serde_data::value_of_map;
use crate::containers::{self, ContainerType, inside_option};
use crate::units::{Count, Share};

/// Fewer maps are not worth another type.
const MANY: u64 = 16;

/// Returns the finding for a group of maps.
pub(super) fn find(at: &AtMoment<'_>, group: &Group) -> Option<Finding> {
    if !at.can_change(group) {
        return None;
    }
    match at.form(group) {
        Form::Table => tables(at, group),
        _ => trees(at, group),
    }
}

/// Tables with one to eight entries. A list with as many places as entries has no free buckets and
/// no control bytes.
fn tables(at: &AtMoment<'_>, group: &Group) -> Option<Finding> {
    let figures = at.figures(group);
    let maps = figures.small_tables.iter().copied();
    let maps = maps.fold(0_u64, u64::saturating_add);
    let (bytes, entries) = (figures.small_table_bytes, figures.small_table_item_bytes);
    let saves_bytes = bytes.saturating_sub(entries);
    if maps < MANY || saves_bytes == 0 {
        return None;
    }
    let usual = (1_u64..)
        .zip(figures.small_tables)
        .max_by_key(|(_, maps)| *maps);
    let (items, of_usual) = usual?;
    let finding = at.finding(Kind::SmallMap, group);
    Some(Finding {
        saves_bytes,
        of_bytes: figures.bytes,
        // A `Vec` is smaller than a table also where it is stored, and another map may save more.
        confidence: Confidence::AtLeast,
        evidence: vec![
            ("small_maps", maps),
            ("small_map_bytes", bytes),
            ("entry_bytes", entries),
        ],
        why: format!(
            "{} maps have at most 8 entries, {} of them {items}. Each takes {} on average, {} of it \
             for entries.",
            Count(maps),
            Share::of(of_usual, maps),
            bytes_of(bytes / maps, group),
            Share::of(entries, bytes),
        ),
        remedy: REMEDY.to_owned(),
        ..finding
    })
}

/// Keys need no order for it: of at most eight entries, a comparison with each finds one.
const REMEDY: &str = "Keep the entries in a `Vec` with as many places as entries, and search it from \
    start to end, or in a map that stores a few inline.";

/// B-trees of one node each. Where all blocks of a site have one size, no map has a second node:
/// the node above others is larger.
fn trees(at: &AtMoment<'_>, group: &Group) -> Option<Finding> {
    let (full, _) = group.container(at.profile)?;
    let is_tree = containers::of(inside_option(full)).is_some_and(ContainerType::is_tree);
    let value = value_of_map(full).and_then(|value| value.split("::").next());
    if !is_tree || value.is_some_and(|krate| !at.own.contains(krate)) {
        return None;
    }
    let figures = at.figures(group);
    // Sizes are recorded in classes, and both kinds of nodes may be of one class. Sums tell them
    // apart.
    let all = sum(group.sites(at.profile));
    let size = figures.bytes.checked_div(figures.blocks)?;
    let is_one_size = size.checked_mul(figures.blocks) == Some(figures.bytes)
        && size.checked_mul(all.total_blocks) == Some(all.total_bytes);
    let is_known = figures.blocks > 0 && figures.known_bytes == figures.bytes;
    if !is_one_size
        || !is_known
        || figures.unused_bytes < figures.bytes / 2
        || figures.blocks < MANY
    {
        return None;
    }
    let finding = at.finding(Kind::SmallMap, group);
    Some(Finding {
        saves_bytes: figures.unused_bytes,
        of_bytes: figures.bytes,
        // An entry of a list may have padding, and the list no links.
        confidence: Confidence::Estimate,
        evidence: vec![
            ("small_maps", figures.blocks),
            ("small_map_bytes", figures.bytes),
            ("unused_bytes", figures.unused_bytes),
        ],
        why: format!(
            "{} maps have one node each. It takes {}, of which {} holds no entry.",
            Count(figures.blocks),
            bytes_of(figures.bytes / figures.blocks, group),
            Share::of(figures.unused_bytes, figures.bytes),
        ),
        remedy: REMEDY.to_owned(),
        ..finding
    })
}
