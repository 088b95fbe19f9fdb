//! Live values that were measured: exact bytes beside the estimate of the same value, several of one label as a series,
//! and what is inside one of them. An exact figure always comes first; an estimate is never shown as anything else.

use std::collections::{HashMap, HashSet};

use heapglass_profiler::profile::{Footprint, FootprintNode, ScopeKind, TypeId};

use crate::app::{Command, Data};
use crate::views::parts::Cursor;
use crate::views::{Context, Outcome};

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
}

/// What was found by following the value.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Found {
    /// Index into the profile's footprints.
    at: usize,
    /// Requested bytes of the blocks it owns, and how many.
    pub(super) bytes: u64,
    pub(super) blocks: u64,
    /// Bytes of those blocks in which no value was seen: spare capacity, and what containers keep for themselves.
    pub(super) slack_bytes: u64,
    /// Places counted at their parent.
    pub(super) folded: u64,
}

/// What one kind of place inside a value came to.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) node: FootprintNode,
    pub(super) depth: u16,
    /// Requested bytes with what is inside.
    pub(super) with_inner: u64,
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
        self.values = gather(&data.profile.footprints);
        self.by_type = by_type(&self.values, data);
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
                let footprint = cx.data.profile.footprints.get(found.at);
                let places = footprint.map(places).unwrap_or_default();
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

fn by_type(values: &[Measured], data: &Data) -> HashMap<TypeId, OfType> {
    let mut types: HashMap<TypeId, OfType> = HashMap::new();
    let mut labels: HashSet<&str> = HashSet::new();
    for value in values.iter().rev() {
        let Some(found) = value.found else { continue };
        let footprint = data.profile.footprints.get(found.at);
        let nodes = footprint
            .filter(|_| labels.insert(&value.label))
            .map(|footprint| footprint.nodes.as_slice());
        for node in nodes.unwrap_or_default() {
            let Some(id) = node.value_type else { continue };
            let sum = types.entry(id).or_default();
            sum.blocks = sum.blocks.saturating_add(node.blocks);
            sum.bytes = sum.bytes.saturating_add(node.block_bytes);
            sum.slack_bytes = sum.slack_bytes.saturating_add(slack(node));
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

fn slack(node: &FootprintNode) -> u64 {
    node.block_bytes.saturating_sub(node.used_bytes)
}

/// Pairs what was found with the estimate made right before or after it under the same label.
fn gather(footprints: &[Footprint]) -> Vec<Measured> {
    let mut values: Vec<Measured> = Vec::new();
    for (at, footprint) in footprints.iter().enumerate() {
        let sum = |of: fn(&FootprintNode) -> u64| {
            let all = footprint.nodes.iter().map(of);
            all.fold(0, u64::saturating_add)
        };
        let last = values.iter_mut().rfind(|value| {
            value.label == footprint.label && value.value_type == footprint.value_type
        });
        let half = last.filter(|value| {
            if footprint.estimate {
                value.estimate_bytes.is_none()
            } else {
                value.found.is_none()
            }
        });
        let value = match half {
            Some(value) => value,
            None => {
                values.push(Measured {
                    label: footprint.label.clone(),
                    value_type: footprint.value_type,
                    ..Measured::default()
                });
                let Some(value) = values.last_mut() else {
                    continue;
                };
                value
            }
        };
        if footprint.estimate {
            value.estimate_bytes = Some(sum(|node| node.block_bytes));
        } else {
            value.found = Some(Found {
                at,
                bytes: sum(|node| node.block_bytes),
                blocks: sum(|node| node.blocks),
                slack_bytes: sum(slack),
                folded: footprint.folded,
            });
        }
        if !footprint.estimate || value.found.is_none() {
            value.time_ns = footprint.time_ns;
        }
    }
    values
}

/// The places inside a value, each below the one around it, largest first.
fn places(footprint: &Footprint) -> Vec<Place> {
    let nodes = &footprint.nodes;
    let parent = |at: usize| {
        let parent = nodes.get(at).map_or(0, |node| node.parent as usize);
        // Parents come before children; what only a damaged recording has hangs at the value itself.
        (at > 0).then_some(if parent < at { parent } else { 0 })
    };
    let mut with_inner: Vec<u64> = nodes.iter().map(|node| node.block_bytes).collect();
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
    for at in (1..nodes.len()).rev() {
        let own = with_inner.get(at).copied().unwrap_or(0);
        if let Some(around) = parent(at).and_then(|p| with_inner.get_mut(p)) {
            *around = around.saturating_add(own);
        }
        if let Some(list) = parent(at).and_then(|p| children.get_mut(p)) {
            list.push(at);
        }
    }
    let size = |at: &usize| with_inner.get(*at).copied().unwrap_or(0);
    let mut open: Vec<(usize, u16)> = if nodes.is_empty() {
        Vec::new()
    } else {
        vec![(0, 0)]
    };
    let mut places = Vec::with_capacity(nodes.len());
    while let Some((at, depth)) = open.pop() {
        if let Some(node) = nodes.get(at) {
            places.push(Place {
                node: node.clone(),
                depth,
                with_inner: size(&at),
            });
        }
        if let Some(inner) = children.get_mut(at) {
            // The last one pushed is shown first; equal ones in the order of the recording.
            inner.sort_by_key(|child| (size(child), std::cmp::Reverse(*child)));
            open.extend(inner.iter().map(|child| (*child, depth.saturating_add(1))));
        }
    }
    places
}

/// One step of a path inside a value, spelled as in a path of fields. As recorded.
pub(super) fn step(node: &FootprintNode, type_name: &str) -> String {
    match node.kind {
        ScopeKind::Phase | ScopeKind::Root => type_name.to_owned(),
        ScopeKind::Field => format!(".{}", node.name),
        ScopeKind::Element => "[]".to_owned(),
        ScopeKind::Key => "{key}".to_owned(),
        ScopeKind::Value => "{value}".to_owned(),
        ScopeKind::Variant => format!("::{}", node.name),
        ScopeKind::Index => format!("#{}", node.name),
        ScopeKind::Buffered => "(buffered)".to_owned(),
        ScopeKind::FromBuffer => "(from buffer)".to_owned(),
        ScopeKind::Other => "(other)".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn footprint(label: &str, time_ns: u64, estimate: bool, block_bytes: u64) -> Footprint {
        Footprint {
            label: label.into(),
            time_ns,
            estimate,
            nodes: vec![FootprintNode {
                block_bytes,
                ..FootprintNode::default()
            }],
            ..Footprint::default()
        }
    }

    #[test]
    fn an_estimate_stands_beside_the_exact_figure_of_its_own_moment() {
        let values = gather(&[
            footprint("a", 1, false, 10),
            footprint("a", 2, true, 9),
            footprint("b", 3, true, 5),
            footprint("a", 4, false, 20),
            footprint("b", 5, false, 6),
            footprint("a", 6, true, 18),
            footprint("a", 7, true, 19),
        ]);
        let seen: Vec<_> = values
            .iter()
            .map(|v| {
                (
                    v.label.as_str(),
                    v.time_ns,
                    v.found.map(|f| f.bytes),
                    v.estimate_bytes,
                )
            })
            .collect();
        assert_eq!(
            seen,
            [
                ("a", 1, Some(10), Some(9)),
                ("b", 5, Some(6), Some(5)),
                ("a", 4, Some(20), Some(18)),
                ("a", 7, None, Some(19)),
            ]
        );
    }

    #[test]
    fn places_stand_below_what_is_around_them_and_add_up() {
        let node = |parent, block_bytes| FootprintNode {
            parent,
            block_bytes,
            ..FootprintNode::default()
        };
        let value = Footprint {
            nodes: vec![node(0, 1), node(0, 2), node(1, 3), node(0, 9), node(77, 4)],
            ..Footprint::default()
        };
        let seen: Vec<_> = places(&value)
            .iter()
            .map(|p| (p.depth, p.with_inner))
            .collect();
        assert_eq!(seen, [(0, 19), (1, 9), (1, 5), (2, 3), (1, 4)]);
        assert!(places(&Footprint::default()).is_empty());
    }
}
