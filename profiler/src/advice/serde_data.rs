//! Findings about serde: values that it buffers, and trees of `Value`.

use std::collections::HashMap;

use super::at_moment::AtMoment;
use super::finding::{Confidence, Finding, Kind};
use super::group::{Group, built_type, calls, own_crates, sum};
use crate::profile::{Figures, Measure, Profile, Site};
use crate::units::{Bytes, Count, Nanos, counted};

/// Bytes that one entry takes as a field if its value is a text or a list: 24, and a third more for
/// the spare capacity of the list that the fields lie in.
const FIELD_BYTES: u64 = 32;

/// The same for a number or a flag: 8, and a third more.
const SMALL_FIELD_BYTES: u64 = 11;

/// Bytes of a map in addition to its nodes: its root, height and length.
const MAP_BYTES: u64 = 24;

/// Entries of a node of a `BTreeMap`.
const NODE_ENTRIES: u64 = 11;

/// Groups of one call: the same field or call of a library, and the same line of the program.
type Calls<'a> = HashMap<Call<'a>, Vec<&'a Group>>;

/// The field or the call of a library, the owner and its line.
type Call<'a> = (&'a str, &'a str, Option<&'a str>);

fn call_of(group: &Group) -> Call<'_> {
    // Keys and values of a map are part of it.
    let location = group.place.location.as_str();
    let location = ["{key}", "{value}"]
        .iter()
        .find_map(|end| location.strip_suffix(end))
        .unwrap_or(location);
    let place = &group.place;
    (location, place.owner.as_str(), place.source.as_deref())
}

fn by_call(groups: &[Group]) -> Calls<'_> {
    let mut calls = Calls::new();
    for group in groups {
        calls.entry(call_of(group)).or_default().push(group);
    }
    calls
}

/// Groups of one tree. Outside fields, several calls of a library may build it: serde_json's own
/// `Map` and `Value` each deserialize themselves.
fn by_tree<'a>(profile: &'a Profile, groups: &'a [Group]) -> Vec<Vec<&'a Group>> {
    let mut trees: HashMap<_, Vec<&Group>> = HashMap::new();
    for group in groups {
        let (location, owner, source) = call_of(group);
        let scope = group.sites(profile).next().map(|site| site.scope);
        let key = if group.place.field.is_some() {
            (location, None)
        } else {
            ("", scope)
        };
        trees.entry((key, owner, source)).or_default().push(group);
    }
    trees.into_values().collect()
}

/// Returns a finding for each call in which serde buffers.
///
/// The lists of serde's `Content` exist only for the buffer. Texts in it may move on into the
/// values, so they do not count, and the saving is a lower bound.
pub(super) fn find_buffered(profile: &Profile, groups: &[Group]) -> Vec<Finding> {
    let is_buffer = |group: &&&Group| {
        let site = group.sites(profile).next();
        let id = site.and_then(|site| profile.type_id_of(site));
        profile.note_of_type(id).is_some()
    };
    let calls = by_call(groups);
    let found = calls.values().filter_map(|groups| {
        let buffers: Vec<&Group> = groups.iter().filter(is_buffer).copied().collect();
        let sites = buffers.iter().flat_map(|group| group.sites(profile));
        let figures = sum(sites);
        let largest = buffers
            .iter()
            .max_by_key(|group| sum(group.sites(profile)).total_bytes)?;
        Some(Finding {
            kind: Kind::Buffered,
            saves_bytes: figures.total_bytes,
            saves_blocks: figures.total_blocks,
            of_bytes: sum(groups.iter().flat_map(|group| group.sites(profile))).total_bytes,
            measure: Measure::Total,
            snapshot: None,
            holder: None,
            alternative_to: None,
            confidence: Confidence::AtLeast,
            place: largest.place.clone(),
            evidence: vec![
                ("buffer_bytes", figures.total_bytes),
                ("buffer_blocks", figures.total_blocks),
            ],
            why: format!(
                "serde buffered values in {}, {}.",
                counted(figures.total_blocks, "block"),
                Bytes(figures.total_bytes)
            ),
            remedy: "Write the fields out instead of `#[serde(flatten)]`, and use serde's default \
                tags instead of `untagged` or an internal `tag`."
                .to_owned(),
        })
    });
    found.collect()
}

/// Returns a finding for each call that builds maps of a `Value`.
///
/// A type of the program has neither nodes nor keys. In their place it has one field for each
/// entry, [`FIELD_BYTES`] or [`SMALL_FIELD_BYTES`] large. Fields that are often absent cost more.
pub(super) fn find_value_trees(
    profile: &Profile,
    at: Option<&AtMoment<'_>>,
    groups: &[Group],
) -> Vec<Finding> {
    let own = own_crates(profile);
    let value_of = |group: &Group| {
        let (full, _) = group.container(profile)?;
        let value = value_of_map(full)?;
        let krate = value.split("::").next()?;
        (!own.contains(krate)).then_some(value)
    };
    let mut found = Vec::new();
    for groups in by_tree(profile, groups) {
        let Some((map, value)) = groups.iter().find_map(|group| {
            let value = value_of(group)?;
            Some((group, value))
        }) else {
            continue;
        };
        let is_map = |group: &&&Group| value_of(group) == Some(value);
        let maps = groups.iter().filter(is_map);
        let nodes = sum(maps.flat_map(|group| group.sites(profile)));
        let of_tree = |site: &&Site| is_part_of(profile, site, value);
        let tree: Vec<&Site> = groups
            .iter()
            .flat_map(|group| group.sites(profile))
            .filter(of_tree)
            .collect();
        let is_key = |site: &Site| is_key(profile, site);
        let keys = sum(tree.iter().copied().filter(|site| is_key(site)));
        let fields = field_bytes(&nodes, &keys, &sum(tree.iter().copied()));
        let without = nodes.peak_bytes.saturating_add(keys.peak_bytes);
        let mut evidence = vec![
            ("node_bytes", nodes.peak_bytes),
            ("node_blocks", nodes.peak_blocks),
        ];
        let mut why = format!(
            "At {}, nodes of its maps held {}",
            profile.peak_moment(),
            Bytes(nodes.peak_bytes)
        );
        // Without keys on any stack, nothing is known of them.
        if keys.peak_blocks > 0 {
            evidence.push(("key_bytes", keys.peak_bytes));
            evidence.push(("key_blocks", keys.peak_blocks));
            why.push_str(&format!(" and keys held {}", Bytes(keys.peak_bytes)));
        }
        why.push('.');
        if let Some(at) = at {
            let moment = Nanos(at.snapshot.moment().time_ns);
            let sites = groups.iter().flat_map(|group| group.sites.iter().copied());
            let is_of_tree = |index: usize| {
                let site = profile.sites().get(index);
                site.filter(|site| is_part_of(profile, site, value))
            };
            let sites: Vec<usize> = sites.filter(|&index| is_of_tree(index).is_some()).collect();
            let of = |wanted: &dyn Fn(&Site) -> bool| {
                let sites = sites.iter().copied();
                at.figures_of(sites.filter(|&index| is_of_tree(index).is_some_and(wanted)))
            };
            let equal = of(&is_key).repeated_blocks;
            if equal > 0 {
                evidence.push(("equal_keys", equal));
                why.push_str(&format!(
                    " At {moment}, {} of the keys equalled another one.",
                    Count(equal)
                ));
            }
            let of_map = |site: &Site| {
                let name = profile.named_type(profile.type_id_of(site));
                name.and_then(|name| value_of_map(&name.full)) == Some(value)
            };
            let unused = of(&of_map).unused_bytes;
            if unused > 0 {
                evidence.push(("unused_node_bytes", unused));
                why.push_str(&format!(
                    " At {moment}, {} of the nodes held no entry.",
                    Bytes(unused)
                ));
            }
        }
        let remedy = if map
            .sites(profile)
            .any(|site| calls(profile, site, "::to_value"))
        {
            "Keep the value itself instead of what `to_value` makes of it."
        } else {
            "Deserialize into a struct with `#[derive(Deserialize)]` instead of `Value`."
        };
        found.push(Finding {
            kind: Kind::ValueTree,
            saves_bytes: without.saturating_sub(fields),
            saves_blocks: nodes.peak_blocks.saturating_add(keys.peak_blocks),
            of_bytes: sum(tree.into_iter()).peak_bytes,
            measure: Measure::Peak,
            snapshot: None,
            holder: None,
            alternative_to: None,
            confidence: Confidence::Estimate,
            place: map.place.clone(),
            evidence,
            why,
            remedy: remedy.to_owned(),
        });
    }
    found
}

/// Returns the bytes of the fields in place of the entries of maps: one for each key, at most as
/// many as fit into the nodes. A key that is empty, or that no stack shows to be one, is not
/// counted. The fields lie where the map itself was, which is counted as one for each node.
///
/// A value without a block of its own is a number or a flag. Where keys are not known, values
/// cannot be told from them.
fn field_bytes(nodes: &Figures, keys: &Figures, tree: &Figures) -> u64 {
    let most = nodes.peak_blocks.saturating_mul(NODE_ENTRIES);
    if keys.peak_blocks == 0 {
        return most.saturating_mul(FIELD_BYTES);
    }
    let entries = keys.peak_blocks.min(most);
    let others = nodes.peak_blocks.saturating_add(keys.peak_blocks);
    let large = tree.peak_blocks.saturating_sub(others).min(entries);
    let small = entries - large;
    let small_bytes = small.saturating_mul(SMALL_FIELD_BYTES);
    let bytes = large
        .saturating_mul(FIELD_BYTES)
        .saturating_add(small_bytes);
    bytes.saturating_sub(nodes.peak_blocks.saturating_mul(MAP_BYTES))
}

/// Returns the type of the values of a map from strings to `Value`:
/// `serde_json::value::Value` of `alloc::..::BTreeMap<alloc::string::String,
/// serde_json::value::Value>`.
pub(super) fn value_of_map(full: &str) -> Option<&str> {
    let (map, arguments) = full.split_once('<')?;
    let (key, value) = arguments.strip_suffix('>')?.split_once(", ")?;
    let is_map = map.ends_with("::BTreeMap") && key == "alloc::string::String";
    (is_map && value.ends_with("::Value") && !value.contains('<')).then_some(value)
}

/// Returns `true` if a site's blocks are part of a tree of these values.
fn is_part_of(profile: &Profile, site: &Site, value: &str) -> bool {
    let container = profile.named_type(profile.type_id_of(site));
    let is_inside = container.is_some_and(|name| name.full.contains(value));
    is_inside || built_type(profile, site) == Some(value)
}

/// Returns `true` if a site's blocks are keys of a map that is being deserialized.
fn is_key(profile: &Profile, site: &Site) -> bool {
    let names = profile.innermost_first(site).filter_map(|frame| {
        let (_, function) = profile.lookup(frame)?;
        Some(function.name.as_str())
    });
    for name in names {
        if name.contains("next_key_seed") {
            return true;
        }
        if ["next_value_seed", "next_element_seed", "visit_seq"]
            .iter()
            .any(|other| name.contains(other))
        {
            return false;
        }
    }
    false
}
