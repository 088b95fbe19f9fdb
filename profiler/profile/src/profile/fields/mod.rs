//! Fields: the places in the data that a program deserialized as `Profiled<T>`, with the
//! allocations of each.
//!
//! The same place under several phases is one field. This module must keep the sum: every site is
//! in exactly one field. Sites outside all data are in the first, "(no field)".
//!
//! A chunk of an arena is no part of the field that happened to need it: values of many fields lie
//! in it. Chunks are in rows of their own, and what lies inside them is known by field.

mod phases;

use crate::profile::arena_measures::measured_inside;
use crate::profile::chunks::{chunks_row, sites_of_chunks};
use crate::profile::scope::{inside, per_entry};
use crate::profile::type_names::sharing_a_name;
use crate::profile::{
    ArenaFigures, Figures, Measure, Profile, Scope, ScopeId, ScopeKind, TypeId, both,
};
use std::collections::{HashMap, HashSet};
use std::iter::successors;

pub use phases::Phases;

/// The path of what was allocated outside all data.
pub const NO_FIELD: &str = "(no field)";

/// The tree of fields of a profile.
#[derive(Clone, Debug, Default)]
pub struct Fields {
    /// All fields, parents before children; the first is "(no field)": what was allocated outside
    /// all data.
    pub(crate) nodes: Vec<Field>,
    /// The field of each scope.
    of_scope: Vec<u32>,
    /// The field of each site.
    of_site: Vec<u32>,
}

/// A place in the data.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Field {
    /// The place around it; the first, and every root, hangs at 0.
    pub parent: u32,
    /// The places directly inside it.
    pub children: Vec<u32>,
    /// From the root: `Fleet.vessels[].crew[].first`. As recorded: not safe for a terminal before
    /// [`crate::units::printable`].
    pub path: String,
    /// The last step of the path: `.first`, `[]`, `{key}`, `::Variant`; of a root the type.
    pub step: String,
    /// The kind of place.
    pub kind: ScopeKind,
    /// The type of its values.
    pub value_type: Option<TypeId>,
    /// The type contains itself: inner values are counted here.
    pub recursive: bool,
    /// Places inside were counted here for want of room or because they lie too deep.
    pub folded: bool,
    /// Number of values.
    pub values: u64,
    /// Their own size, bytes, all of them: `values * size_of`.
    pub inline_bytes: u64,
    /// Those of the values that were visited in place (`deserialize_in_place`).
    pub in_place_values: u64,
    /// The allocations here for values that were visited in place.
    pub in_place: Figures,
    /// The allocations here, without the places inside.
    pub own: Figures,
    /// With the places inside.
    pub with_inner: Figures,
    /// The bytes and pieces that were allocated inside arenas here, without the places inside. The
    /// blocks that hold them are chunks.
    pub in_arenas: ArenaFigures,
    /// With the places inside.
    pub in_arenas_with_inner: ArenaFigures,
    /// The blocks here are the chunks of these arenas (indexes into [`Profile::arenas`]), and this
    /// is no place in the data; empty = of arenas without a name.
    pub chunks_of: Option<Vec<usize>>,
    /// Arenas whose chunks are among the blocks here, because no stack tells them apart.
    pub mixed_with_chunks_of: Vec<usize>,
    /// Roots: net bytes that stayed when deserializing ended, summed over all values; `None` where
    /// it is not known.
    pub stayed_bytes: Option<i64>,
    /// Its scopes, one under each phase.
    pub scopes: Vec<ScopeId>,
    /// Indexes of its sites in [`Profile::sites`].
    pub sites: Vec<usize>,
}

impl Field {
    /// Returns the weight of the field among its siblings, by a measure: its blocks and what was
    /// allocated inside arenas for it, with the places inside.
    pub fn weight(&self, measure: Measure) -> u64 {
        let inside = measured_inside(&self.in_arenas_with_inner, measure);
        measure
            .of(&self.with_inner)
            .saturating_add(inside.unwrap_or(0))
    }

    /// Returns the net bytes that stayed of each value when deserializing ended, on average. Known
    /// only of roots.
    pub fn stayed_of_each(&self) -> Option<i64> {
        let sum = self.stayed_bytes.filter(|_| self.kind == ScopeKind::Root)?;
        per_entry(sum, self.values)
    }

    /// Returns the bytes ever allocated inside arenas for the field and the places inside it,
    /// whether they went through the handle or bypassed it.
    pub fn bytes_in_arenas(&self) -> u64 {
        self.in_arenas_with_inner.bytes()
    }
}

impl Fields {
    /// Returns all fields, parents before children. The first is [`NO_FIELD`]: what was allocated
    /// outside all data. Other fields are numbered by their position.
    pub fn nodes(&self) -> &[Field] {
        &self.nodes
    }

    /// Gathers the fields of a profile.
    pub(super) fn of(profile: &Profile) -> Fields {
        let mut fields = Fields {
            nodes: vec![Field {
                path: NO_FIELD.to_owned(),
                step: NO_FIELD.to_owned(),
                ..Field::default()
            }],
            of_scope: vec![0; profile.scopes.len().max(1)],
            of_site: Vec::with_capacity(profile.sites.len()),
        };
        let roots = roots_of_one_name(profile);
        let mut known: HashMap<(u32, ScopeKind, &str, Option<TypeId>), u32> = HashMap::new();
        for (index, scope) in profile.scopes.iter().enumerate() {
            if !scope.kind.is_field() {
                continue;
            }
            // Parents come before children; what only a damaged recording has hangs at the root.
            let parent = match scope.kind {
                // A value deserialized inside another one begins a path of its own.
                ScopeKind::Root => 0,
                _ => fields.of_scope[(scope.parent as usize).min(index)],
            };
            let key = (parent, scope.kind, scope.name.as_str(), scope.value_type);
            let node = *known
                .entry(key)
                .or_insert_with(|| fields.add(profile, &roots, parent, scope));
            fields.of_scope[index] = node;
            let field = &mut fields.nodes[node as usize];
            field.recursive |= scope.recursive;
            field.folded |= scope.folded;
            field.values = field.values.saturating_add(scope.entered);
            if scope.in_place {
                field.in_place_values = field.in_place_values.saturating_add(scope.entered);
            }
            let inline_bytes = scope.entered.saturating_mul(scope.value_bytes);
            field.inline_bytes = field.inline_bytes.saturating_add(inline_bytes);
            field.stayed_bytes = both(field.stayed_bytes, scope.stayed_bytes);
            field.scopes.push(ScopeId(index as u32));
        }
        // Without data there are no rows that chunks would distort.
        let chunks = if fields.is_empty() {
            HashMap::new()
        } else {
            sites_of_chunks(profile)
        };
        let mut chunk_rows: HashMap<&[usize], u32> = HashMap::new();
        for (index, site) in profile.sites.iter().enumerate() {
            let number = match chunks.get(&index) {
                Some(arenas) => *chunk_rows
                    .entry(arenas)
                    .or_insert_with(|| fields.add_chunks(profile, arenas)),
                None => fields.field_of(site.scope),
            };
            fields.of_site.push(number);
            let field = &mut fields.nodes[number as usize];
            if let Some(arenas) = profile.mixed_chunk_sites().get(&index) {
                let new: Vec<usize> = arenas
                    .iter()
                    .filter(|arena| !field.mixed_with_chunks_of.contains(arena))
                    .copied()
                    .collect();
                field.mixed_with_chunks_of.extend(new);
            }
            field.own.add(&site.figures);
            let scope = profile.scopes.get(site.scope.0 as usize);
            if scope.is_some_and(|scope| scope.in_place) {
                field.in_place.add(&site.figures);
            }
            field.sites.push(index);
        }
        for row in profile.arenas.iter().flat_map(|arena| &arena.rows) {
            let field = fields.field_of(row.scope);
            fields.nodes[field as usize].in_arenas.add(&row.inside);
        }
        fields.sum();
        fields
    }

    /// Returns the number of places in the data.
    pub fn places(&self) -> usize {
        let places = self.nodes.iter().skip(1);
        places.filter(|field| field.chunks_of.is_none()).count()
    }

    /// Returns `true` if the program deserialized nothing as `Profiled<T>`.
    pub fn is_empty(&self) -> bool {
        self.nodes.len() <= 1
    }

    /// The field of a site (index into [`Profile::sites`]); 0 outside all data.
    pub fn field_of_site(&self, site: usize) -> u32 {
        self.of_site.get(site).copied().unwrap_or(0)
    }

    /// The field of a scope; 0 for phases. Chunks that were allocated in the scope are in no field:
    /// see [`field_of_site`](Fields::field_of_site).
    pub fn field_of(&self, scope: ScopeId) -> u32 {
        self.of_scope.get(scope.0 as usize).copied().unwrap_or(0)
    }

    /// A field by its index into [`nodes`](Fields::nodes); `None` for "(no field)".
    pub fn get(&self, field: u32) -> Option<&Field> {
        self.nodes.get(field as usize).filter(|_| field != 0)
    }

    /// The fields from the root to `field`, itself included.
    pub fn path_to(&self, field: u32) -> Vec<u32> {
        let parent = |at: &u32| self.nodes.get(*at as usize).map(|field| field.parent);
        // Parents come before children (`of` sees to it), so this ends.
        let around = successors(Some(field), |at| parent(at).filter(|parent| *parent != 0));
        let mut path: Vec<u32> = around.collect();
        path.reverse();
        path
    }

    fn add(
        &mut self,
        profile: &Profile,
        roots: &HashSet<TypeId>,
        parent: u32,
        scope: &Scope,
    ) -> u32 {
        let number = u32::try_from(self.nodes.len()).unwrap_or(u32::MAX);
        let name = profile.named_type(scope.value_type);
        let is_shared = scope.value_type.is_some_and(|id| roots.contains(&id));
        let name = name.map(|name| if is_shared { &name.full } else { &name.short });
        let step = scope.kind.step(&scope.name, name.map(String::as_str));
        let outer = &mut self.nodes[parent as usize];
        outer.children.push(number);
        let path = match scope.kind {
            ScopeKind::Root => step.clone(),
            _ => inside(&outer.path, &step),
        };
        self.nodes.push(Field {
            parent,
            path,
            step,
            kind: scope.kind,
            value_type: scope.value_type,
            stayed_bytes: Some(0),
            ..Field::default()
        });
        number
    }

    /// Adds the row of the chunks of some arenas.
    fn add_chunks(&mut self, profile: &Profile, arenas: &[usize]) -> u32 {
        let number = u32::try_from(self.nodes.len()).unwrap_or(u32::MAX);
        let name = chunks_row(profile, arenas);
        self.nodes[0].children.push(number);
        self.nodes.push(Field {
            path: name.clone(),
            step: name,
            chunks_of: Some(arenas.to_vec()),
            ..Field::default()
        });
        number
    }

    fn sum(&mut self) {
        for node in &mut self.nodes {
            node.with_inner = node.own.clone();
            node.in_arenas_with_inner = node.in_arenas;
        }
        // "(no field)" is apart: roots are not inside it.
        for index in (1..self.nodes.len()).rev() {
            let field = &self.nodes[index];
            let (parent, figures, inside) = (
                field.parent,
                field.with_inner.clone(),
                field.in_arenas_with_inner,
            );
            if parent != 0 {
                let outer = &mut self.nodes[parent as usize];
                outer.with_inner.add(&figures);
                outer.in_arenas_with_inner.add(&inside);
            }
        }
    }
}

/// Types that begin a path and share their short name with another one that does.
fn roots_of_one_name(profile: &Profile) -> HashSet<TypeId> {
    let roots: HashSet<TypeId> = profile
        .scopes
        .iter()
        .filter(|scope| scope.kind == ScopeKind::Root)
        .filter_map(|scope| scope.value_type)
        .collect();
    sharing_a_name(profile, roots).flatten().collect()
}
