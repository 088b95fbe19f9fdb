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
        let phases = outward.take_while(|phase| *phase != ScopeId(0));
        let mut phases: Vec<ScopeId> = phases.collect();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Builder;

    #[test]
    fn fields_between_phases_are_not_phases_and_phases_of_one_path_are_one() {
        let mut b = Builder::new();
        let load = b.scope(0, "load", 0, 0);
        let root = b.field(load, ScopeKind::Root, "", ("a::Fleet", 8), 1);
        let name = b.field(root, ScopeKind::Field, "name", ("", 0), 1);
        let inside = b.scope(name.0, "decode", 0, 0);
        let again = b.scope(load.0, "decode", 0, 0);
        let profile = b.build();
        let phases = Phases::of(&profile);
        assert_eq!(phases.phase_of(name), load);
        assert_eq!(phases.phase_of(again), inside);
        assert_eq!(phases.path(&profile, again), "load > decode");
        assert_eq!(phases.path(&profile, root), "load");
        assert_eq!(phases.path(&profile, ScopeId(77)), "(no phase)");
    }

    #[test]
    fn deep_phases_are_named_by_their_innermost_names() {
        let mut b = Builder::new();
        let mut scopes = vec![ScopeId(0)];
        for depth in 1..=PATH_NAMES + 1 {
            let parent = scopes[depth - 1].0;
            scopes.push(b.scope(parent, &depth.to_string(), 0, 0));
        }
        let profile = b.build();
        let phases = Phases::of(&profile);
        let path = |depth: usize| phases.path(&profile, scopes[depth]);
        assert!(path(32).starts_with("1 > 2 > ") && path(32).ends_with(" > 31 > 32"));
        assert!(path(33).starts_with("... > 2 > 3 > ") && path(33).ends_with(" > 32 > 33"));
        let around: Vec<u32> = phases
            .around(scopes[3])
            .iter()
            .map(|scope| scope.0)
            .collect();
        assert_eq!(around, [1, 2, 3]);
    }

    #[test]
    fn a_scope_that_says_it_is_its_own_parent_hangs_at_the_root() {
        let mut b = Builder::new();
        b.scope(0, "a", 0, 0);
        let own = b.scope(2, "b", 0, 0);
        let profile = b.build();
        let phases = Phases::of(&profile);
        assert_eq!(
            (phases.parent(own), phases.phase_of(own)),
            (ScopeId(0), own)
        );
        assert_eq!(phases.path(&profile, own), "b");
    }

    #[test]
    fn a_circle_of_parents_ends_at_the_root() {
        let mut b = Builder::new();
        let a = b.scope(2, "a", 0, 0);
        let inner = b.scope(1, "b", 0, 0);
        let profile = b.build();
        let phases = Phases::of(&profile);
        assert_eq!(phases.path(&profile, inner), "a > b");
        assert_eq!(phases.parent(a), ScopeId(0));
    }
}
