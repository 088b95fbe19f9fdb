//! The measured live values: exact bytes with the estimate for the same value, several values of
//! one label as a series, and the places inside one of them. An exact figure always comes first,
//! and an estimate is always marked as one.

use std::collections::{HashMap, HashSet};

use heapglass_profiler::profile::{Measured, Profile, TypeId};
use heapglass_profiler::table::{Slack, preorder, slack_by_type};
use ratatui::layout::Rect;

use crate::model::{Command, Context, Data, Outcome};
use crate::widgets::{List, split};

/// The indices of the places inside a value, with their depths.
type Places = List<(usize, usize)>;

/// Numbers of lines below the list, and below the places inside a value.
const DETAILS: u16 = 4;

/// All measured values, and the one that is open.
#[derive(Debug, Default)]
pub(super) struct Footprints {
    /// Indices into [`Profile::measured`]: the exact values, and estimates with a label that has
    /// no exact value.
    pub(super) values: List<usize>,
    by_type: HashMap<TypeId, Slack>,
    pub(super) is_open: bool,
    /// The places of the selected value, while it is open.
    pub(super) inside: Option<Places>,
}

/// Returns the areas of the table and of the details below it.
pub(super) fn panes(area: Rect) -> [Rect; 2] {
    let details = DETAILS.min(area.height.saturating_sub(2));
    split(area, [area.height - details, details])
}

impl Footprints {
    /// Takes the measured values from new data. Closes the open one, because it may be a different
    /// value now.
    pub(super) fn gather(&mut self, data: &Data) {
        self.values.rows = gather(&data.profile);
        self.by_type = slack_by_type(&data.profile);
        self.inside = None;
        self.is_open &= !self.values.rows.is_empty();
    }

    /// Sets the height of the list and of the places: all lines but breadcrumb, heading and
    /// details.
    pub(super) fn resize(&mut self, cx: &Context<'_>) {
        let height = cx.body.height.saturating_sub(2 + DETAILS).into();
        self.values.resize(height);
        if let Some(places) = &mut self.inside {
            places.resize(height);
        }
    }

    pub(super) fn open(&mut self) -> Outcome {
        self.is_open = !self.values.rows.is_empty();
        if self.is_open {
            Outcome::Done
        } else {
            Outcome::notice(
                "no values were measured; call tracking_alloc::footprint(\"label\", &value)",
            )
        }
    }

    pub(super) fn back(&mut self) {
        self.is_open = self.inside.take().is_some();
    }

    pub(super) fn command(&mut self, command: Command, cx: &Context<'_>) -> Outcome {
        if let Some(places) = &mut self.inside {
            places.command(command);
            return Outcome::Done;
        }
        match command {
            Command::Enter => match self.selected(cx.data).filter(|value| is_exact(value)) {
                Some(value) => {
                    let mut places = in_order(value);
                    places.resize(self.values.height);
                    self.inside = Some(places);
                }
                None => return Outcome::notice("an estimate has no parts to show"),
            },
            Command::Footprints => self.is_open = false,
            _ => _ = self.values.command(command),
        }
        Outcome::Done
    }

    pub(super) fn selected<'a>(&self, data: &'a Data) -> Option<&'a Measured> {
        data.profile.measured().get(*self.values.selected()?)
    }

    /// Returns the value whose places are shown.
    pub(super) fn entered<'a>(&self, data: &'a Data) -> Option<&'a Measured> {
        self.selected(data).filter(|_| self.inside.is_some())
    }

    /// Returns the sum of the measured values of a type; `None` if there are none.
    pub(super) fn of_type(&self, id: TypeId) -> Option<&Slack> {
        self.by_type.get(&id)
    }
}

/// Returns the estimate of deepsize for a value, in bytes.
pub(super) fn estimate_bytes(value: &Measured) -> Option<u64> {
    let alone = (!is_exact(value)).then_some(value.bytes);
    value.estimate.map(|estimate| estimate.bytes).or(alone)
}

/// Returns `true` if the value was measured by following it.
pub(super) fn is_exact(value: &Measured) -> bool {
    !value.footprint.estimate
}

/// Returns the exact values with their estimates, and the estimates with a label that has no exact
/// value.
fn gather(profile: &Profile) -> Vec<usize> {
    let all = profile.measured();
    let exact: HashSet<&str> = all
        .iter()
        .filter(|value| is_exact(value))
        .map(|value| value.footprint.label.as_str())
        .collect();
    let shown = |value: &Measured| is_exact(value) || !exact.contains(&*value.footprint.label);
    (0..all.len())
        .filter(|at| all.get(*at).is_some_and(shown))
        .collect()
}

/// Returns the places inside a value with their depths, each below its parent, the largest first.
fn in_order(value: &Measured) -> Places {
    let places = value.places.iter();
    let (parents, weights): (Vec<_>, Vec<_>) = places
        .map(|place| (place.parent, place.with_inner_bytes))
        .unzip();
    List {
        rows: preorder(&parents, &weights, usize::MAX),
        ..List::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heapglass_fixture as fixture;
    use heapglass_profiler::profile::{Footprint, FootprintNode, FootprintNodeValue};

    fn footprint(
        label: &str,
        time_ns: u64,
        estimate: bool,
        nodes: Vec<FootprintNode>,
    ) -> Footprint {
        fixture::made!(Footprint {
            label: label.into(),
            time_ns,
            estimate,
            nodes,
        })
    }

    fn node(parent: u32, block_bytes: u64) -> FootprintNode {
        fixture::made!(FootprintNode {
            parent,
            figures: FootprintNodeValue {
                block_bytes,
                ..FootprintNodeValue::default()
            },
        })
    }

    #[test]
    fn an_estimate_stands_beside_an_exact_figure_or_alone_and_never_as_one() {
        let footprints = vec![
            footprint("a", 1, false, vec![node(0, 10)]),
            footprint("a", 2, true, vec![node(0, 9)]),
            footprint("b", 3, true, vec![node(0, 5)]),
            footprint("a", 40, false, vec![node(0, 20)]),
        ];
        let profile = fixture::filled(|parts| *parts.footprints = footprints);
        let all = profile.measured();
        let seen: Vec<_> = gather(&profile)
            .into_iter()
            .map(|at| &all[at])
            .map(|v| {
                let found = is_exact(v).then_some(v.bytes);
                (v.footprint.label.as_str(), found, estimate_bytes(v))
            })
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
        let footprints = vec![footprint("a", 1, false, nodes), Footprint::default()];
        let profile = fixture::filled(|parts| *parts.footprints = footprints);
        let seen: Vec<Vec<_>> = profile
            .measured()
            .iter()
            .map(|value| {
                in_order(value)
                    .rows
                    .iter()
                    .map(|(at, depth)| (*depth, value.places[*at].with_inner_bytes))
                    .collect()
            })
            .collect();
        let none = Vec::new();
        assert_eq!(seen, [none, vec![(0, 19), (1, 9), (1, 5), (2, 3), (1, 4)]]);
    }
}
