//! Phases whose bytes live at the peak are many times their input.
//!
//! This names a place to look at and no change of its own, so it saves nothing: what would save is
//! in the other findings of the same lines.

use super::finding::{Confidence, Finding, Kind, Place};
use super::group::{Group, sum};
use crate::profile::{Figures, Frames, Measure, Profile, ScopeId, Site};
use crate::table::{By, Detail, PhaseDetail, rows};
use crate::units::{Bytes, Share, printable};

/// Data in types of the program takes one to three times its text.
const MANY: u64 = 5;

/// Returns a finding for each phase with a stated input that takes many times as much at the peak,
/// without the phases around one that has a finding.
pub(super) fn find(profile: &Profile, groups: &[Group], least: u64) -> Vec<Finding> {
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
    let is_around = |outer: ScopeId| {
        let mut others = phases.iter().map(|(_, phase)| phase.scope);
        others.any(|inner| inner != outer && is_inside(profile, inner, outer))
    };
    let innermost = phases.iter().filter(|(_, phase)| !is_around(phase.scope));
    let found = innermost.filter_map(|(name, phase)| finding(profile, groups, name, phase));
    found.collect()
}

fn finding(
    profile: &Profile,
    groups: &[Group],
    name: &str,
    phase: &PhaseDetail,
) -> Option<Finding> {
    let is_in_phase = |site: &&Site| is_inside(profile, site.scope, phase.scope);
    let of = |group: &Group| sum(group.sites(profile).filter(is_in_phase));
    let (group, most) = groups
        .iter()
        .map(|group| (group, of(group)))
        .max_by_key(|(_, figures)| figures.peak_bytes)?;
    let Figures { peak_bytes, .. } = phase.with_inner;
    let times = peak_bytes as f64 / phase.input_bytes as f64;
    Some(Finding {
        kind: Kind::Amplification,
        saves_bytes: 0,
        saves_blocks: 0,
        of_bytes: peak_bytes,
        measure: Measure::Peak,
        confidence: Confidence::Exact,
        place: group.place.clone(),
        snapshot: None,
        holder: None,
        evidence: vec![
            ("input_bytes", phase.input_bytes),
            ("peak_bytes", peak_bytes),
            ("most_bytes", most.peak_bytes),
        ],
        why: format!(
            "At {}, phase {} held {times:.1} bytes for each of the {} that it read; {} of them are \
             {}.",
            profile.peak_moment(),
            printable(name),
            Bytes(phase.input_bytes),
            Share::of(most.peak_bytes, peak_bytes),
            largest(&group.place),
        ),
        remedy: "Look at the other findings of this phase first. Smaller types for this field, or \
            data that is used as it is read, help most."
            .to_owned(),
    })
}

/// `Catalog.names[]`, or a type where no field is known.
fn largest(place: &Place) -> String {
    let name = place.field.as_ref().or(place.type_name.as_ref());
    name.map_or_else(
        || "of one call".to_owned(),
        |name| printable(name).into_owned(),
    )
}

/// Returns `true` if a scope is a phase, or lies in it.
fn is_inside(profile: &Profile, scope: ScopeId, phase: ScopeId) -> bool {
    profile.phases().around(scope).contains(&phase)
}
