//! Warnings that a reader must know before comparing two sides: sentences, never a refusal.

use std::collections::{BTreeSet, HashSet};

use super::{DiffOptions, Per, Recording, input};
use crate::profile::{Measure, Profile, ScopeKind, State};
use crate::table::By;
use crate::units::printable;
use heapglass_profile::internal::Interned;

/// Returns the warnings that a reader must know before comparing `base` and `new`: one sentence
/// each, free of control characters.
pub fn warnings(
    base: &[Recording<'_>],
    new: &[Recording<'_>],
    options: DiffOptions,
) -> Vec<String> {
    warnings_about(base, new, base.iter().chain(new).copied(), options)
}

/// Returns the same [`warnings`], but those of single recordings only for the recordings `about`.
/// They begin with the name of the recording.
pub fn warnings_about<'a>(
    base: &[Recording<'a>],
    new: &[Recording<'a>],
    about: impl IntoIterator<Item = Recording<'a>>,
    options: DiffOptions,
) -> Vec<String> {
    let mut said = Vec::new();
    let all = || base.iter().chain(new);
    let several = |of: fn(&Profile) -> String| {
        let mut names: Interned<String> = Interned::new();
        for one in all() {
            names.number(printable(&of(one.profile)).into_owned());
        }
        (names.values.len() > 1).then(|| names.values.join(", "))
    };
    if let Some(names) = several(|profile| profile.process().program.clone()) {
        said.push(format!(
            "The recordings are of different programs ({names}): rows with the same name may be different code."
        ));
    }
    if let Some(names) = several(|profile| profile.capture().mode.clone()) {
        said.push(format!("The recordings have different modes ({names})."));
    }
    if let Some(names) = several(|profile| profile.capture().stacks()) {
        said.push(format!(
            "Stacks were walked in different ways ({names}): rows may differ although the program does not."
        ));
    }
    if let Some(names) = several(|profile| profile.capture().architecture.clone()) {
        said.push(format!(
            "The recordings are of different machines ({names}): sizes of the same types may differ."
        ));
    }
    let sums = all().map(|one| {
        let merged = one.profile.process().merged.as_ref();
        merged.map_or(1, |merged| merged.recordings)
    });
    let sums: BTreeSet<u64> = sums.collect();
    if sums.len() > 1 {
        let sums: Vec<String> = sums.iter().map(u64::to_string).collect();
        said.push(format!(
            "The recordings are sums of different numbers of recordings ({}): differences may come from \
             the numbers alone.",
            sums.join(", ")
        ));
    }
    if !options.measure.is_bytes() && all().any(|one| one.profile.capture().sampling.is_some()) {
        said.push(format!(
            "The number of {} in a recording with samples is a lower bound, so differences are not known.",
            if options.measure == Measure::Grows { "reallocations" } else { "blocks" }
        ));
    }
    for one in about {
        let name = printable(one.name);
        if one.profile.process().state == State::Running {
            said.push(format!(
                "{name} is still running: its figures cover the time up to now."
            ));
        }
        if !one.profile.capture().is_exact() {
            said.push(format!("{name}: figures are estimates."));
        }
        for loss in one.profile.losses() {
            said.push(format!("{name}: {loss}"));
        }
    }
    if let Some(sentence) = one_sided(base, new)
        && matches!(options.by, By::Site | By::Phase | By::Field)
    {
        said.push(sentence);
    }
    said.extend(inputs(base, new, options));
    // A recording may be on both sides.
    let mut known = HashSet::new();
    said.retain(|sentence| known.insert(sentence.clone()));
    said
}

/// Warns if only one side has phases, or fields. A row by site contains its phase and field, so no
/// row by site is then the same on both sides.
pub(super) fn one_sided(base: &[Recording<'_>], new: &[Recording<'_>]) -> Option<String> {
    // Scopes are there also where nothing was allocated in them: `&str` in place of `String`.
    let has = |profile: &Profile, is_meant: fn(ScopeKind) -> bool| {
        let mut scopes = profile.scopes().iter().skip(1);
        scopes.any(|scope| is_meant(scope.kind))
    };
    let has_phases = |profile: &Profile| has(profile, |kind| kind == ScopeKind::Phase);
    let has_fields = |profile: &Profile| has(profile, |kind| kind != ScopeKind::Phase);
    let sides = |has: &dyn Fn(&Profile) -> bool| {
        [base, new].map(|side| side.iter().any(|one| has(one.profile)))
    };
    let all = [
        ("phases", sides(&has_phases)),
        ("fields of `Profiled`", sides(&has_fields)),
    ];
    // A side without recordings has neither.
    let (what, [of_base, _]) = all
        .into_iter()
        .filter(|_| !base.is_empty() && !new.is_empty())
        .find(|(_, [of_base, of_new])| of_base != of_new)?;
    let side = if of_base { "first" } else { "second" };
    Some(format!(
        "Only the {side} side has {what}, so no site appears on both sides: sites are compared by owner."
    ))
}

/// Warns about inputs that differ, or that one side does not state.
fn inputs(base: &[Recording<'_>], new: &[Recording<'_>], options: DiffOptions) -> Vec<String> {
    let mut said = Vec::new();
    if let Some(per) = options.per {
        for side in [base, new] {
            let mut side = side.iter();
            let missing = side.find(|one| per.count(input(one.profile)).is_none());
            if let Some(one) = missing {
                let name = printable(one.name);
                said.push(format!("{name} {} on a phase.", per.unstated()));
            }
        }
        return said;
    }
    for per in Per::ALL {
        let [of_base, of_new] = [base, new].map(|side| {
            let counts = side.iter().map(|one| per.count(input(one.profile)));
            counts
                .collect::<Option<BTreeSet<u64>>>()
                .unwrap_or_default()
        });
        if !of_base.is_empty() && !of_new.is_empty() && of_base != of_new {
            let [of_base, of_new] = [of_base, of_new].map(|counts| {
                let counts = counts.into_iter().map(|count| per.amount(count));
                counts.collect::<Vec<String>>().join(", ")
            });
            let (per, words) = (per.name(), per.words());
            said.push(format!(
                "The inputs differ: {of_base} against {of_new}; --per {per} compares figures {words}."
            ));
        }
    }
    said
}
