//! Phases whose bytes live at the peak are many times their input.
//!
//! This names a place to look at and no change of its own, so it saves nothing: what would save is
//! in the other findings of the same lines.

use super::finding::{Confidence, Finding, Kind, Place};
use super::group::{Group, sum, with_chunks};
use crate::profile::{Figures, Frames, Measure, Profile, ScopeId, Site};
use crate::table::{By, Detail, PhaseDetail, rows};
use crate::units::{Bytes, Share, printable};

/// Data in types of the program takes one to three times its text.
const MANY: u64 = 5;

/// The place with most bytes is named if it has at least one byte in this number.
const REAL_PART: u64 = 10;

/// Returns a finding for each phase with a stated input that takes many times as much at the peak,
/// without the phases around one that has a finding.
pub(super) fn find(profile: &Profile, least: u64) -> Vec<Finding> {
    let rows = rows(profile, By::Phase, Measure::Peak, Frames::Folded);
    let phases = rows.iter().filter_map(|row| match &row.detail {
        Detail::Phase(phase) => Some((row.key.as_str(), phase.as_ref())),
        _ => None,
    });
    let phases: Vec<(&str, &PhaseDetail)> = phases
        .filter(|(_, phase)| {
            let peak = phase.with_inner.peak_bytes;
            let input = phase.input_bytes;
            input > 0 && peak >= least && peak / MANY >= input
        })
        .collect();
    if phases.is_empty() {
        return Vec::new();
    }
    let is_around = |outer: ScopeId| {
        let mut others = phases.iter().map(|(_, phase)| phase.scope);
        others.any(|inner| inner != outer && is_inside(profile, inner, outer))
    };
    let innermost = phases.iter().filter(|(_, phase)| !is_around(phase.scope));
    // What lies in an arena is part of what the phase holds.
    let groups = with_chunks(profile);
    innermost
        .map(|(name, phase)| finding(profile, &groups, name, phase))
        .collect()
}

fn finding(profile: &Profile, groups: &[Group], name: &str, phase: &PhaseDetail) -> Finding {
    let is_in_phase = |site: &&Site| is_inside(profile, site.scope, phase.scope);
    let bytes_of = |group: &Group| sum(group.sites(profile).filter(is_in_phase)).peak_bytes;
    let Figures { peak_bytes, .. } = phase.with_inner;
    let largest = groups
        .iter()
        .map(|group| (bytes_of(group), group))
        .max_by_key(|(bytes, _)| *bytes)
        .filter(|(bytes, _)| *bytes > 0 && *bytes >= peak_bytes / REAL_PART);
    let mut evidence = vec![
        ("input_bytes", phase.input_bytes),
        ("peak_bytes", peak_bytes),
    ];
    let mut part = String::new();
    if let Some((bytes, group)) = largest {
        evidence.push(("most_bytes", bytes));
        part = format!(
            "; {} of them are {}",
            Share::of(bytes, peak_bytes),
            named(&group.place)
        );
    }
    let times = peak_bytes as f64 / phase.input_bytes as f64;
    Finding {
        kind: Kind::Amplification,
        saves_bytes: 0,
        saves_blocks: 0,
        of_bytes: peak_bytes,
        measure: Measure::Peak,
        confidence: Confidence::Exact,
        place: largest.map_or_else(
            || Place {
                location: format!("[{name}]"),
                ..Place::default()
            },
            |(_, group)| group.place.clone(),
        ),
        snapshot: None,
        holder: None,
        alternative_to: None,
        evidence,
        why: format!(
            "At {}, phase {} held {times:.1} bytes for each of the {} that it read{part}.",
            profile.peak_moment(),
            printable(name),
            Bytes(phase.input_bytes),
        ),
        remedy: "Look at the other findings of this phase first. Smaller types, or data that is \
            used as it is read, help most."
            .to_owned(),
    }
}

/// `Catalog.names[]`, or a type where no field is known, or the chunks of an arena.
fn named(place: &Place) -> String {
    let name = place.field.as_ref().or(place.type_name.as_ref());
    let Some(name) = name else {
        return "of one call".to_owned();
    };
    match name.strip_prefix("chunk of ") {
        Some(arena) => format!("chunks of {}", printable(arena)),
        None => printable(name).into_owned(),
    }
}

/// Returns `true` if a scope is a phase, or lies in it.
fn is_inside(profile: &Profile, scope: ScopeId, phase: ScopeId) -> bool {
    profile.phases().around(scope).contains(&phase)
}
