//! Rare variants of enums that make all values in lists large.

use super::at_moment::AtMoment;
use super::finding::{Confidence, Finding, Kind};
use super::group::Group;
use crate::snapshot::LargeVariants;
use crate::units::{Bytes, Count, Share, counted, printable};

/// Enums of the standard library whose arguments the program chooses.
const OF_ARGUMENTS: [&str; 2] = ["Option<", "Result<"];

/// Variants that are named.
const MOST_NAMED: usize = 4;

/// Returns a finding for each enum of the program.
pub(super) fn find(at: &AtMoment<'_>, groups: &[Group]) -> Vec<Finding> {
    let all = at.snapshot.large_variants().iter();
    all.filter_map(|large| finding(at, groups, large)).collect()
}

fn finding(at: &AtMoment<'_>, groups: &[Group], large: &LargeVariants) -> Option<Finding> {
    let site = large.site?;
    let group = groups.iter().find(|group| group.has(site))?;
    let is_of_argument = OF_ARGUMENTS
        .iter()
        .any(|name| large.type_name.starts_with(name));
    let is_own = if large.krate == "core" && is_of_argument {
        at.can_change(group)
    } else {
        at.own.contains(large.krate.as_str())
    };
    if !is_own {
        return None;
    }
    let names: Vec<String> = large
        .variants
        .iter()
        .take(MOST_NAMED)
        .map(|name| format!("`{}`", printable(name)))
        .collect();
    let (first, _) = names.split_first()?;
    let needs = match large.variants.len() - 1 {
        0 => format!("{first} needs"),
        more => format!("{first} and {} need up to", counted(more as u64, "other")),
    };
    let type_name = printable(&large.type_name);
    let finding = at.finding(Kind::LargeVariant, group);
    Some(Finding {
        saves_bytes: large.saves_bytes,
        of_bytes: large.block_bytes,
        // The compiler may make the enum still smaller.
        confidence: Confidence::AtLeast,
        evidence: vec![
            ("value_bytes", large.value_bytes),
            ("boxed_bytes", large.boxed_bytes),
            ("variant_bytes", large.variant_bytes),
            ("others_bytes", large.others_bytes),
            ("values", large.values),
            ("large_values", large.large_values),
            ("places", large.places),
        ],
        why: format!(
            "Each `{type_name}` takes {} because {needs} {}, as only {} of {} values do. The other \
             variants need at most {}.",
            Bytes(large.value_bytes),
            Bytes(large.variant_bytes),
            Share::of(large.large_values, large.values),
            Count(large.values),
            Bytes(large.others_bytes),
        ),
        remedy: format!(
            "Box the fields of {}: then each value takes at most {}. The saving is less the blocks \
             of the boxes.",
            match large.variants.len() - names.len() {
                0 => names.join(", "),
                more => format!("{} and of {more} more", names.join(", ")),
            },
            Bytes(large.boxed_bytes),
        ),
        ..finding
    })
}
