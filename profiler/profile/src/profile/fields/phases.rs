//! Phases: the scopes that the program named, without the fields of its data between them.
//!
//! Phases of one name under one phase are one phase, wherever in the data they were entered. For a
//! scope that only a damaged recording can name, the answer must be the root.

use std::collections::HashMap;
use std::iter::successors;

use crate::profile::{Profile, ScopeId, ScopeKind};

/// Deeper nested phases are named by their innermost names only.
const PATH_NAMES: usize = 32;

/// The phase of each scope.
#[derive(Clone, Debug, Default)]
pub struct Phases {
    of_scope: Vec<u32>,
    parents: Vec<u32>,
}

impl Phases {
    /// Gathers the phases of a profile.
    pub(in crate::profile) fn of(profile: &Profile) -> Phases {
        // Even a profile without a table of scopes has the root.
        let count = profile.scopes.len().max(1);
        let mut phases = Phases {
            of_scope: vec![0; count],
            parents: vec![0; count],
        };
        let mut known: HashMap<(u32, &str), u32> = HashMap::new();
        for (index, scope) in profile.scopes.iter().enumerate().skip(1) {
            // Parents come before children; what only a damaged recording has hangs at the root, as
            // this scope does so far.
            let parent = phases.of_scope[(scope.parent as usize).min(index)];
            phases.parents[index] = parent;
            phases.of_scope[index] = match scope.kind {
                ScopeKind::Phase => *known
                    .entry((parent, scope.name.as_str()))
                    .or_insert(index as u32),
                _ => parent,
            };
        }
        phases
    }

    /// The phase a scope lies in, its own when it is one; the root for a scope that does not exist.
    pub fn phase_of(&self, scope: ScopeId) -> ScopeId {
        ScopeId(self.of_scope.get(scope.0 as usize).copied().unwrap_or(0))
    }

    /// The phase around a phase; the root's is the root.
    pub fn parent(&self, phase: ScopeId) -> ScopeId {
        ScopeId(self.parents.get(phase.0 as usize).copied().unwrap_or(0))
    }

    /// The phases around a scope and its own, outermost first, without the root.
    pub fn around(&self, scope: ScopeId) -> Vec<ScopeId> {
        let outward = successors(Some(self.phase_of(scope)), |&phase| {
            Some(self.parent(phase))
        });
        let mut phases: Vec<ScopeId> = outward.take_while(|phase| *phase != ScopeId(0)).collect();
        phases.reverse();
        phases
    }

    /// `load > parse`, the innermost names of it; the root is `(no phase)`. As recorded: not safe
    /// for a terminal before [`crate::units::printable`].
    pub fn path(&self, profile: &Profile, scope: ScopeId) -> String {
        let phases = self.around(scope);
        if phases.is_empty() {
            return "(no phase)".to_owned();
        }
        let cut = phases.len().saturating_sub(PATH_NAMES);
        let name = |phase: &ScopeId| {
            let scope = profile.scopes.get(phase.0 as usize);
            scope.map_or("?", |scope| scope.name.as_str())
        };
        let mut names: Vec<&str> = phases.iter().skip(cut).map(name).collect();
        if cut > 0 {
            names.insert(0, "...");
        }
        names.join(" > ")
    }
}
