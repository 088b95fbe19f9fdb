//! Rows by type and by field.
//!
//! Both are functions of the same [`Fields`] and the same table of types, so they cannot disagree.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::{Detail, Row};
use crate::profile::fields::{Field, Fields};
use crate::profile::{Estimated, Figures, Footprint, Profile, ScopeKind, Source, TypeId, TypeRow};

/// A part of a row, by type or by field.
#[derive(Clone, Debug)]
pub struct Part {
    /// As the row of that type or field is called.
    pub key: String,
    /// The full name of a type.
    pub full_name: Option<String>,
    /// Where a type came from: `stack`, `field`, `mixed`.
    pub from: Option<&'static str>,
    /// What was counted.
    pub figures: Figures,
}

/// A type.
#[derive(Clone, Debug)]
pub struct TypeDetail {
    /// With module paths; `None` = the row of blocks whose type nothing tells.
    pub full_name: Option<String>,
    /// Values seen by `Profiled`; 0 where none was.
    pub values: u64,
    /// Their own size, bytes.
    pub inline_bytes: u64,
    /// Mean size of a block, bytes; 0 without blocks.
    pub mean_block_bytes: u64,
    /// Bytes of its blocks that no value was in, and the label of the footprint that tells: of the newest of each label
    /// the one with most bytes of the type.
    pub slack: Option<(u64, String)>,
    /// The newest of its values that was measured and estimated.
    pub estimated: Option<Estimated>,
    /// Where the type came from: `stack`, `field`, `mixed`.
    pub from: Option<&'static str>,
    /// The fields its blocks were allocated in, largest total first.
    pub fields: Vec<Part>,
    /// The types being built when its blocks were allocated, as far as stacks tell, largest total first.
    pub owners: Vec<Part>,
}

/// A field.
#[derive(Clone, Debug)]
pub struct FieldDetail {
    /// Index into [`Fields::nodes`].
    pub node: u32,
    /// The type of its values: as its row is called, and in full.
    pub value_type: Option<(String, String)>,
    /// What it is.
    pub kind: ScopeKind,
    /// How many values there were.
    pub values: u64,
    /// Their own size, bytes.
    pub inline_bytes: u64,
    /// The field and the places inside it.
    pub with_inner: Figures,
    /// Roots: net bytes that stayed when deserializing ended.
    pub retained_bytes: Option<i64>,
    /// The type contains itself: inner values are counted here.
    pub recursive: bool,
    /// Places inside were counted here for want of room or because they lie too deep.
    pub folded: bool,
    /// What its own blocks hold, largest total first.
    pub types: Vec<Part>,
}

pub(super) fn by_type(profile: &Profile) -> Vec<Row> {
    let slack = slack_by_type(profile);
    let row = |row: &TypeRow| {
        let name = row.type_id.and_then(|id| profile.types.get(id.0 as usize));
        let fields = row.fields.iter().map(|(field, figures)| Part {
            key: path(profile.fields(), *field),
            full_name: None,
            from: None,
            figures: *figures,
        });
        Row {
            key: profile.type_key(row.type_id).to_owned(),
            figures: row.figures,
            detail: Detail::Type(Box::new(TypeDetail {
                full_name: name.map(|name| name.full.clone()),
                values: row.values,
                inline_bytes: row.inline_bytes,
                mean_block_bytes: row.mean_block_bytes(),
                slack: row.type_id.and_then(|id| slack.get(&id)).cloned(),
                estimated: row.type_id.and_then(|id| profile.estimated(id)),
                from: name.map(|_| from(row)),
                fields: fields.collect(),
                owners: owners(profile, row),
            })),
        }
    };
    profile.type_rows().iter().map(row).collect()
}

fn path(fields: &Fields, field: u32) -> String {
    let field = fields.nodes.get(field as usize);
    field.map_or_else(String::new, |field| field.path.clone())
}

fn from(row: &TypeRow) -> &'static str {
    if row.from_fields == row.figures {
        // A type without blocks is known from the values seen in fields.
        "field"
    } else if row.from_fields == Figures::default() {
        "stack"
    } else {
        "mixed"
    }
}

/// Sums by key, largest total first.
fn parts<K: std::hash::Hash + Eq + Ord + Copy>(
    figures: impl Iterator<Item = (K, Figures)>,
) -> Vec<(K, Figures)> {
    let mut sums: HashMap<K, Figures> = HashMap::new();
    for (key, figures) in figures {
        sums.entry(key).or_default().add(&figures);
    }
    let mut sums: Vec<(K, Figures)> = sums.into_iter().collect();
    sums.sort_by_key(|(key, figures)| (Reverse(figures.total_bytes), *key));
    sums
}

fn owners(profile: &Profile, row: &TypeRow) -> Vec<Part> {
    let owned = row.sites.iter().filter_map(|&site| {
        let site = profile.sites.get(site)?;
        Some((site.contents?.owner?, site.figures))
    });
    parts(owned)
        .into_iter()
        .map(|(owner, figures)| part(profile, Some(owner), None, figures))
        .collect()
}

fn part(
    profile: &Profile,
    id: Option<TypeId>,
    from: Option<&'static str>,
    figures: Figures,
) -> Part {
    let name = id.and_then(|id| profile.types.get(id.0 as usize));
    Part {
        key: profile.type_key(id).to_owned(),
        full_name: name.map(|name| name.full.clone()),
        from,
        figures,
    }
}

/// For each type, of the newest footprint of each label, the one with most bytes of it: two values may share blocks, so
/// several are never added up.
fn slack_by_type(profile: &Profile) -> HashMap<TypeId, (u64, String)> {
    let mut newest: HashMap<&str, &Footprint> = HashMap::new();
    for footprint in profile.footprints.iter().filter(|one| !one.estimate) {
        newest
            .entry(&footprint.label)
            .and_modify(|known| {
                if footprint.time_ns >= known.time_ns {
                    *known = footprint;
                }
            })
            .or_insert(footprint);
    }
    // (bytes of blocks, slack, label); the label breaks ties, so that the answer is the same each time.
    let mut most: HashMap<TypeId, (u64, u64, &str)> = HashMap::new();
    for (label, footprint) in newest {
        let mut here: HashMap<TypeId, (u64, u64)> = HashMap::new();
        for node in footprint.nodes.iter().filter(|node| node.blocks > 0) {
            if let Some(id) = node.value_type {
                let (bytes, slack) = here.entry(id).or_default();
                *bytes = bytes.saturating_add(node.block_bytes);
                *slack = slack.saturating_add(node.block_bytes.saturating_sub(node.used_bytes));
            }
        }
        for (id, (bytes, slack)) in here {
            let candidate = (bytes, slack, label);
            let known = most.entry(id).or_insert(candidate);
            *known = candidate.max(*known);
        }
    }
    most.into_iter()
        .map(|(id, (_, slack, label))| (id, (slack, label.to_owned())))
        .collect()
}

pub(super) fn by_field(profile: &Profile) -> Vec<Row> {
    let row = |(number, field): (u32, &Field)| {
        let name = field
            .value_type
            .and_then(|id| Some((id, profile.types.get(id.0 as usize)?)));
        let is_root = field.kind == ScopeKind::Root;
        Row {
            key: field.path.clone(),
            figures: field.own,
            detail: Detail::Field(Box::new(FieldDetail {
                node: number,
                value_type: name.map(|(id, name)| {
                    let key = profile.type_key(Some(id));
                    (key.to_owned(), name.full.clone())
                }),
                kind: field.kind,
                values: field.values,
                inline_bytes: field.inline_bytes,
                with_inner: field.with_inner,
                retained_bytes: field.retained_bytes.filter(|_| is_root),
                recursive: field.recursive,
                folded: field.folded,
                types: types_of(profile, field),
            })),
        }
    };
    (0..).zip(&profile.fields().nodes).map(row).collect()
}

/// What the blocks of a field hold.
fn types_of(profile: &Profile, field: &Field) -> Vec<Part> {
    let sites = || {
        let site = |&site: &usize| profile.sites.get(site);
        field.sites.iter().filter_map(site)
    };
    let mut sources: HashMap<Option<TypeId>, &'static str> = HashMap::new();
    for site in sites() {
        let Some((id, source)) = profile.type_of(site) else {
            continue;
        };
        let source = match source {
            Source::Stack => "stack",
            Source::Field => "field",
        };
        sources
            .entry(Some(id))
            .and_modify(|known| {
                if *known != source {
                    *known = "mixed";
                }
            })
            .or_insert(source);
    }
    let typed = sites().map(|site| (profile.type_id_of(site), site.figures));
    parts(typed)
        .into_iter()
        .map(|(id, figures)| part(profile, id, sources.get(&id).copied(), figures))
        .collect()
}
