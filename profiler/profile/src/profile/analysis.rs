//! The analysis that every frontend needs of a profile: fields, phases, types, owners, footprints,
//! leaks and losses. Each is computed on first use and then kept.

use super::arenas::{Leak, leaks};
use super::chunks::{ChunkSites, chunk_sites};
use super::fields::{Fields, Phases};
use super::folding::Folding;
use super::lifetime::Paces;
use super::losses::losses;
use super::measured::{Measured, measured};
use super::source::source_root;
use super::type_names::qualified;
use super::type_rows::{TypeRow, type_rows};
use super::unnamed::unnamed;
use super::{Profile, TypeId, UNKNOWN};
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

/// The analysis of a profile, as much of it as was asked for: see [`Profile::fields`] and its
/// neighbours.
#[derive(Debug, Default)]
pub(crate) struct Analysis {
    fields: OnceLock<Fields>,
    phases: OnceLock<Phases>,
    paces: OnceLock<Paces>,
    types: OnceLock<Vec<TypeRow>>,
    type_names: OnceLock<HashMap<TypeId, String>>,
    measured: OnceLock<Vec<Measured>>,
    chunks: OnceLock<ChunkSites>,
    leaks: OnceLock<Vec<Leak>>,
    losses: OnceLock<Vec<String>>,
    unnamed: OnceLock<Option<String>>,
    folding: OnceLock<Arc<Folding>>,
    source_root: OnceLock<String>,
}

/// A clone may be changed, so it begins without an analysis.
impl Clone for Analysis {
    fn clone(&self) -> Self {
        Analysis::default()
    }
}

/// Each is computed when it is first asked for and then kept: to change a profile afterwards,
/// change a clone of it.
impl Profile {
    /// Returns the places in the data that the program deserialized, with the allocations of each.
    pub fn fields(&self) -> &Fields {
        self.analysis.fields.get_or_init(|| Fields::of(self))
    }

    /// Returns the phases that the program named.
    pub fn phases(&self) -> &Phases {
        self.analysis.phases.get_or_init(|| Phases::of(self))
    }

    /// Returns the time and the allocations of each phase.
    pub(super) fn paces(&self) -> &Paces {
        self.analysis.paces.get_or_init(|| Paces::of(self))
    }

    /// Returns the sums of the blocks of each type, in no particular order.
    pub fn type_rows(&self) -> &[TypeRow] {
        self.analysis.types.get_or_init(|| type_rows(self))
    }

    /// Returns the key of a type's row: its short name, with as much of its path as needed where
    /// two rows share the short name, and [`UNKNOWN`] without a type. The name is as recorded: not
    /// safe for a terminal before [`crate::units::printable`].
    pub fn type_key(&self, id: Option<TypeId>) -> &str {
        let qualified = self.analysis.type_names.get_or_init(|| qualified(self));
        let qualified = id.and_then(|id| qualified.get(&id));
        let name = qualified.or_else(|| Some(&self.named_type(id)?.short));
        name.map_or(UNKNOWN, String::as_str)
    }

    /// The footprints, oldest first, with estimates beside them.
    pub fn measured(&self) -> &[Measured] {
        self.analysis.measured.get_or_init(|| measured(self))
    }

    /// The arenas (indexes into [`Profile::arenas`]) that each site (index into [`Profile::sites`])
    /// allocates chunks for. A site without a stack is not among them, because other blocks of its
    /// scope have the same site.
    pub fn chunk_sites(&self) -> &HashMap<usize, Vec<usize>> {
        &self.chunks().named
    }

    /// The arenas whose chunks are among the blocks of each site without a stack.
    pub(super) fn mixed_chunk_sites(&self) -> &HashMap<usize, Vec<usize>> {
        &self.chunks().mixed
    }

    fn chunks(&self) -> &ChunkSites {
        self.analysis.chunks.get_or_init(|| chunk_sites(self))
    }

    /// The folder that holds the program's own source files, with a slash at its end; empty when
    /// there is none.
    pub fn source_root(&self) -> &str {
        self.analysis.source_root.get_or_init(|| source_root(self))
    }

    /// Returns the folded stack of each site.
    pub fn folding(&self) -> &Folding {
        self.analysis.folding.get_or_init(|| {
            let mut folding = Folding::default();
            folding.extend(self);
            Arc::new(folding)
        })
    }

    /// Returns the folded stacks if they were asked for already.
    pub(super) fn known_folding(&self) -> Option<Arc<Folding>> {
        self.analysis.folding.get().cloned()
    }

    /// Takes folded stacks that are known, where none were asked for yet.
    pub(crate) fn set_folding(&self, folding: Arc<Folding>) {
        let _ = self.analysis.folding.set(folding);
    }

    /// Returns all blocks of the global heap that values in arenas left behind, most bytes first.
    pub fn leaks(&self) -> &[Leak] {
        self.analysis.leaks.get_or_init(|| leaks(self))
    }

    /// Returns one sentence for each loss, free of control characters; empty if nothing was lost.
    pub fn losses(&self) -> &[String] {
        self.analysis.losses.get_or_init(|| losses(self))
    }

    /// Returns a sentence for people if the program's own frames have no debug information, so that
    /// stacks name no types; `None` if nothing is missing.
    pub fn unnamed(&self) -> Option<&str> {
        let sentence = &self.analysis.unnamed;
        sentence.get_or_init(|| unnamed(self)).as_deref()
    }
}
