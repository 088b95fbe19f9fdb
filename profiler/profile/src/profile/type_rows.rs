//! Footprints by type: the sums of all blocks of one type.
//!
//! This module must keep the sum: every site is in exactly one row. Sites of unknown type are in
//! the row of `None`.

use super::figures::sums;
use super::{Figures, Frame, Function, Origin, Profile, ScopeKind, Site, TypeId, TypeKind};
use crate::containers::inside_option;
use crate::interned::Interned;
use rustc_hash::FxBuildHasher;

/// The key of the row without a type.
pub const UNKNOWN: &str = "(unknown type)";

/// One type and all it allocated.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct TypeRow {
    /// The type; `None` = neither the stack nor a field tells.
    pub type_id: Option<TypeId>,
    /// The figures of its blocks: the heap side of its footprint.
    pub figures: Figures,
    /// Values seen by `Profiled`; 0 where none was.
    pub values: u64,
    /// Their own size, bytes, wherever they lie.
    pub inline_bytes: u64,
    /// The part of [`figures`](TypeRow::figures) whose type came from a field, not from the stack.
    pub from_fields: Figures,
    /// Indexes of its sites in [`Profile::sites`].
    pub sites: Vec<usize>,
    /// The fields (indexes into [`Fields::nodes`](super::fields::Fields::nodes)) its blocks were
    /// allocated in, with what; largest total first.
    pub fields: Vec<(u32, Figures)>,
}

/// The source of the type of a site's blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Source {
    /// The stack (debug information).
    Stack,
    /// The field it happened in.
    Field,
    /// The memory of a program that was not recorded: what a snapshot found in the blocks.
    Memory,
}

impl Profile {
    /// The type of a site's blocks: what the stack says, else the type of the field it happened in,
    /// where that is a container and the stack could not be read at all (no stack, no debug
    /// information).
    ///
    /// A stack that can be read and names no container is a format's scratch memory, or code
    /// without containers: it would be wrong to call that by the field it happened to be in, so it
    /// has no type. A site of a program that was not recorded stands for the blocks of one type.
    pub(crate) fn type_of(&self, site: &Site) -> Option<(TypeId, Source)> {
        if let Some(contents) = site.contents {
            return Some((contents.container, Source::Stack));
        }
        let scope = self.scopes.get(site.scope.0 as usize)?;
        if !self.process.state.is_recorded() {
            return scope.value_type.map(|id| (id, Source::Memory));
        }
        let is_value = !matches!(
            scope.kind,
            ScopeKind::Phase | ScopeKind::Buffered | ScopeKind::FromBuffer | ScopeKind::Other
        );
        let id = scope
            .value_type
            .filter(|_| is_value && !site.marks.synthetic)?;
        let name = self.named_type(Some(id))?;
        let is_described = || {
            let innermost = self.innermost_code(site);
            innermost.is_some_and(|(frame, _)| frame.file.is_some())
        };
        (owns_blocks(&name.full) && !is_described()).then_some((id, Source::Field))
    }

    /// The innermost frame on a site's stack that is code of the program or of its dependencies.
    fn innermost_code(&self, site: &Site) -> Option<(&Frame, &Function)> {
        let mut frames = self.innermost_first(site).filter_map(|id| self.lookup(id));
        frames.find(|(_, function)| {
            matches!(function.origin, Origin::User | Origin::Dependency) && !function.is_own()
        })
    }

    /// The type of a site's blocks, wherever it came from.
    pub fn type_id_of(&self, site: &Site) -> Option<TypeId> {
        self.type_of(site).map(|(id, _)| id)
    }
}

/// Returns `true` if values of a type ask for blocks themselves, and not only what is in them.
fn owns_blocks(full: &str) -> bool {
    let mut full = full;
    while full != inside_option(full) {
        full = inside_option(full);
    }
    full.starts_with("alloc::borrow::Cow<") || TypeKind::of(full) != TypeKind::Other
}

/// All types with blocks or values, in no particular order; the row of `None` only when it has
/// blocks.
pub(super) fn type_rows(profile: &Profile) -> Vec<TypeRow> {
    let fields = profile.fields();
    let mut types: Interned<Option<TypeId>, FxBuildHasher> = Interned::default();
    let mut rows: Vec<TypeRow> = Vec::new();
    for (index, site) in profile.counted_sites() {
        let found = profile.type_of(site);
        let id = found.map(|(id, _)| id);
        let row = types.entry(&mut rows, id);
        row.figures.add(&site.figures);
        if matches!(found, Some((_, Source::Field))) {
            row.from_fields.add(&site.figures);
        }
        row.sites.push(index);
    }
    for field in fields.nodes.iter().skip(1) {
        if field.value_type.is_none() || field.values == 0 {
            continue;
        }
        let row = types.entry(&mut rows, field.value_type);
        row.values = row.values.saturating_add(field.values);
        row.inline_bytes = row.inline_bytes.saturating_add(field.inline_bytes);
    }
    for (row, id) in rows.iter_mut().zip(types.values) {
        row.type_id = id;
        let figures = |site: usize| profile.sites[site].figures.clone();
        let sites = row.sites.iter();
        row.fields = sums(sites.map(|&site| (fields.field_of_site(site), figures(site))));
    }
    rows
}
