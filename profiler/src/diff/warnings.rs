//! What a reader must know before comparing two sides: sentences, never a refusal.

use std::collections::HashSet;

use super::{Options, Per, Recording, input, knows};
use crate::profile::{Profile, State};
use crate::units::{Bytes, counted, printable};

/// What to know before comparing `base` and `new`, a sentence each, free of control characters.
pub fn warnings(base: &[Recording<'_>], new: &[Recording<'_>], options: Options) -> Vec<String> {
    let mut said = Vec::new();
    let all = || base.iter().chain(new);
    let each = |of: fn(&Profile) -> String| {
        let mut names: Vec<String> = Vec::new();
        for one in all() {
            let name = of(one.profile);
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    };
    let several = |of: fn(&Profile) -> String| {
        let names = each(of);
        (names.len() > 1).then(|| {
            let names: Vec<_> = names.iter().map(|name| printable(name)).collect();
            names.join(", ")
        })
    };
    if let Some(names) = several(|profile| profile.process.program.clone()) {
        said.push(format!(
            "The recordings are of different programs ({names}): rows of the same name need not be the same code."
        ));
    }
    if let Some(names) = several(|profile| profile.capture.mode.clone()) {
        said.push(format!("The recordings have different modes ({names})."));
    }
    if let Some(names) = several(|profile| profile.capture.stacks()) {
        said.push(format!(
            "Stacks were walked in different ways ({names}): rows may differ where the program does not."
        ));
    }
    if let Some(names) = several(|profile| profile.capture.architecture.clone()) {
        said.push(format!(
            "The recordings are of different machines ({names}): sizes of the same types may differ."
        ));
    }
    for one in all() {
        let name = printable(one.name);
        if one.profile.process.state == State::Running {
            said.push(format!(
                "{name} is still running: its figures are those up to now."
            ));
        }
        if !one.profile.capture.is_exact() {
            said.push(format!("{name}: figures are estimates."));
        }
        for loss in one.profile.losses() {
            said.push(format!("{name}: {loss}"));
        }
    }
    said.extend(inputs(base, new, options));
    // A recording may be on both sides.
    let mut known = HashSet::new();
    said.retain(|sentence| known.insert(sentence.clone()));
    said
}

/// What is to say of inputs that differ, or that one side does not state.
fn inputs(base: &[Recording<'_>], new: &[Recording<'_>], options: Options) -> Vec<String> {
    let mut said = Vec::new();
    let counts = |side: &[Recording<'_>], per: Per| {
        let mut counts: Vec<u64> = side
            .iter()
            .filter_map(|one| per.count(input(one.profile)))
            .collect();
        counts.sort_unstable();
        counts.dedup();
        counts
    };
    for per in Per::ALL {
        if options.per == Some(per) {
            for side in [base, new] {
                let missing = side
                    .iter()
                    .find(|one| per.count(input(one.profile)).is_none());
                if let Some(one) = missing {
                    said.push(format!(
                        "{} does not state its {}: call .{} on a phase.",
                        printable(one.name),
                        per.noun(),
                        per.call()
                    ));
                }
            }
            continue;
        }
        let (of_base, of_new) = (counts(base, per), counts(new, per));
        if options.per.is_none() && knows(base, per) && knows(new, per) && of_base != of_new {
            let spell = |counts: &[u64]| {
                let spelled: Vec<String> = counts
                    .iter()
                    .map(|&count| match per {
                        Per::Record => counted(count, "record"),
                        Per::InputByte => format!("{} of input", Bytes(count)),
                    })
                    .collect();
                spelled.join(", ")
            };
            said.push(format!(
                "The inputs differ: {} against {}; --per {} compares figures {}.",
                spell(&of_base),
                spell(&of_new),
                per.name(),
                per.words()
            ));
        }
    }
    said
}
