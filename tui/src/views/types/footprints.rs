//! Live values that were measured: exact bytes beside the estimate of the same value, several of one label as a series,
//! and what is inside one of them. An exact figure always comes first; an estimate is never shown as anything else.

use std::collections::{HashMap, HashSet};

use heapglass_profiler::profile::{self, FootprintNode, Profile, TypeId};

use crate::model::{Command, Context, Data, Outcome};
use crate::widgets::Cursor;

/// One value at one moment: found, estimated or both.
#[derive(Clone, Debug, Default)]
pub(super) struct Measured {
    /// As recorded.
    pub(super) label: String,
    pub(super) value_type: Option<TypeId>,
    pub(super) time_ns: u64,
    pub(super) found: Option<Found>,
    /// What deepsize says, bytes.
    pub(super) estimate_bytes: Option<u64>,
    /// The estimate less what was found.
    pub(super) difference_bytes: Option<i64>,
}

/// What was found by following the value.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Found {
    /// Index into what [`Profile::measured`] answers.
    at: usize,
    /// Requested bytes of the blocks it owns, and how many.
    pub(super) bytes: u64,
    pub(super) blocks: u64,
    /// Bytes of those blocks in which no value was seen: spare capacity, and what containers keep for themselves.
    pub(super) slack_bytes: u64,
    /// More than the time before, of the same label.
    pub(super) change_bytes: Option<i64>,
    /// Places counted at their parent.
    pub(super) folded: u64,
    /// Values that could not be looked into.
    pub(super) hidden_values: u64,
}

/// What one kind of place inside a value came to.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) node: FootprintNode,
    /// As recorded.
    pub(super) step: String,
    /// As recorded.
    pub(super) path: String,
    pub(super) depth: u16,
    /// Requested bytes with what is inside.
    pub(super) with_inner: u64,
    pub(super) slack_bytes: u64,
}

/// What of a type's values was found, the last time each label was measured.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OfType {
    pub(super) blocks: u64,
    pub(super) bytes: u64,
    pub(super) slack_bytes: u64,
}

/// All measured values, and what of them is open.
#[derive(Debug, Default)]
pub(super) struct Footprints {
    pub(super) values: Vec<Measured>,
    by_type: HashMap<TypeId, OfType>,
    pub(super) cursor: Cursor,
    open: bool,
    /// The places of the value that was entered.
    pub(super) inside: Option<(usize, Vec<Place>, Cursor)>,
}

impl Footprints {
    pub(super) fn is_open(&self) -> bool {
        self.open
    }

    /// Takes the measured values out of new data. What was open closes: its value may be another one now.
    pub(super) fn gather(&mut self, data: &Data) {
        self.values = gather(&data.profile);
        self.by_type = by_type(&data.profile);
        self.inside = None;
        self.open &= !self.values.is_empty();
    }

    pub(super) fn clamp(&mut self, cx: &Context<'_>) {
        self.cursor.clamp(self.values.len(), rows(cx));
        if let Some((_, places, cursor)) = &mut self.inside {
            cursor.clamp(places.len(), rows(cx));
        }
    }

    pub(super) fn open(&mut self) -> Outcome {
        if self.values.is_empty() {
            let how = "no values were measured: tracking_alloc::footprint(\"label\", &value)";
            return Outcome::Notice(how.to_owned());
        }
        self.open = true;
        Outcome::Done
    }

    pub(super) fn back(&mut self) {
        if self.inside.take().is_none() {
            self.open = false;
        }
    }

    pub(super) fn command(&mut self, command: Command, cx: &Context<'_>) -> Outcome {
        if let Some((_, places, cursor)) = &mut self.inside {
            cursor.command(command, places.len(), rows(cx));
            return Outcome::Done;
        }
        match command {
            Command::Enter => {
                let at = self.cursor.selected;
                let Some(found) = self.values.get(at).and_then(|value| value.found) else {
                    return Outcome::Notice("an estimate has nothing inside".to_owned());
                };
                let all = cx.data.profile.measured();
                let places = all.get(found.at).map(in_order).unwrap_or_default();
                self.inside = Some((at, places, Cursor::default()));
            }
            Command::Footprints => self.open = false,
            _ => {
                self.cursor.command(command, self.values.len(), rows(cx));
            }
        }
        Outcome::Done
    }

    /// What was found of the values of a type, in the last footprint of each label; `None` = nothing.
    pub(super) fn of_type(&self, id: TypeId) -> Option<OfType> {
        self.by_type.get(&id).copied()
    }
}

/// Of each type what was found, in the last exact footprint of each label.
fn by_type(profile: &Profile) -> HashMap<TypeId, OfType> {
    let mut types: HashMap<TypeId, OfType> = HashMap::new();
    let mut labels: HashSet<&str> = HashSet::new();
    let all = profile.measured();
    let exact = all.iter().rev().filter(|value| !value.footprint.estimate);
    for value in exact.filter(|value| labels.insert(&value.footprint.label)) {
        for place in &value.places {
            let Some(id) = place.node.value_type else {
                continue;
            };
            let sum = types.entry(id).or_default();
            sum.blocks = sum.blocks.saturating_add(place.node.blocks);
            sum.bytes = sum.bytes.saturating_add(place.node.block_bytes);
            sum.slack_bytes = sum.slack_bytes.saturating_add(place.slack_bytes);
        }
    }
    types
}

/// Rows of the list, or of the places, on the present screen: all but breadcrumb, heading and details.
pub(super) fn rows(cx: &Context<'_>) -> usize {
    cx.body
        .height
        .saturating_sub(2 + super::render::FOOTPRINT_DETAILS) as usize
}

/// The exact ones with the estimates beside them, and the estimates of labels that have no exact one.
fn gather(profile: &Profile) -> Vec<Measured> {
    let all = profile.measured();
    let exact: HashSet<&str> = all
        .iter()
        .filter(|value| !value.footprint.estimate)
        .map(|value| value.footprint.label.as_str())
        .collect();
    let shown = all.iter().enumerate().filter(|(_, value)| {
        !value.footprint.estimate || !exact.contains(value.footprint.label.as_str())
    });
    shown
        .map(|(at, value)| {
            let found = (!value.footprint.estimate).then_some(Found {
                at,
                bytes: value.bytes,
                blocks: value.blocks,
                slack_bytes: value.slack_bytes,
                change_bytes: value.change_bytes,
                folded: value.footprint.folded,
                hidden_values: value.footprint.hidden_values,
            });
            let alone = value.footprint.estimate.then_some(value.bytes);
            Measured {
                label: value.footprint.label.clone(),
                value_type: value.footprint.value_type,
                time_ns: value.footprint.time_ns,
                found,
                estimate_bytes: value.estimate.map(|estimate| estimate.bytes).or(alone),
                difference_bytes: value.estimate.map(|estimate| estimate.difference_bytes),
            }
        })
        .collect()
}

/// The places inside a value, each below the one around it, largest first.
fn in_order(value: &profile::Measured) -> Vec<Place> {
    let places = &value.places;
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); places.len()];
    for (at, place) in places.iter().enumerate() {
        if let Some(list) = place.parent.and_then(|parent| children.get_mut(parent)) {
            list.push(at);
        }
    }
    let size = |at: &usize| places.get(*at).map_or(0, |place| place.with_inner_bytes);
    let mut open: Vec<(usize, u16)> = places.first().map(|_| (0, 0)).into_iter().collect();
    let mut rows = Vec::with_capacity(places.len());
    while let Some((at, depth)) = open.pop() {
        if let Some(place) = places.get(at) {
            rows.push(Place {
                node: place.node.clone(),
                step: place.step.clone(),
                path: place.path.clone(),
                depth,
                with_inner: place.with_inner_bytes,
                slack_bytes: place.slack_bytes,
            });
        }
        if let Some(inner) = children.get_mut(at) {
            // The last one pushed is shown first; equal ones in the order of the recording.
            inner.sort_by_key(|child| (size(child), std::cmp::Reverse(*child)));
            let below = inner.iter().map(|child| (*child, depth.saturating_add(1)));
            open.extend(below);
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use heapglass_profiler::profile::Footprint;

    fn footprint(
        label: &str,
        time_ns: u64,
        estimate: bool,
        nodes: Vec<FootprintNode>,
    ) -> Footprint {
        Footprint {
            label: label.into(),
            time_ns,
            estimate,
            nodes,
            ..Footprint::default()
        }
    }

    fn node(parent: u32, block_bytes: u64) -> FootprintNode {
        FootprintNode {
            parent,
            block_bytes,
            ..FootprintNode::default()
        }
    }

    #[test]
    fn an_estimate_stands_beside_an_exact_figure_or_alone_and_never_as_one() {
        let footprints = vec![
            footprint("a", 1, false, vec![node(0, 10)]),
            footprint("a", 2, true, vec![node(0, 9)]),
            footprint("b", 3, true, vec![node(0, 5)]),
            footprint("a", 40, false, vec![node(0, 20)]),
        ];
        let values = gather(&Profile {
            footprints,
            ..Profile::default()
        });
        let seen: Vec<_> = values
            .iter()
            .map(|v| (v.label.as_str(), v.found.map(|f| f.bytes), v.estimate_bytes))
            .collect();
        let alone = ("b", None, Some(5));
        assert_eq!(
            seen,
            [("a", Some(10), Some(9)), alone, ("a", Some(20), None)]
        );
    }

    #[test]
    fn places_stand_below_what_is_around_them() {
        let nodes = vec![node(0, 1), node(0, 2), node(1, 3), node(0, 9), node(77, 4)];
        let profile = Profile {
            footprints: vec![footprint("a", 1, false, nodes), Footprint::default()],
            ..Profile::default()
        };
        let seen: Vec<Vec<_>> = profile
            .measured()
            .iter()
            .map(|value| {
                in_order(value)
                    .iter()
                    .map(|p| (p.depth, p.with_inner))
                    .collect()
            })
            .collect();
        let none = Vec::new();
        assert_eq!(seen, [none, vec![(0, 19), (1, 9), (1, 5), (2, 3), (1, 4)]]);
    }
}
