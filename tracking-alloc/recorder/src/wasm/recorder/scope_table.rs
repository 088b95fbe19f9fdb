//! The table of scopes: phases, which are found by parent and name, and fields, which the tree of
//! `Profiled` already knows to be new.
//!
//! The limits are those of the mapped recording. A scope that does not fit is counted at its
//! parent, and the recording says so.

use crate::current_scope::Added;
use tracking_alloc_recording::{MAX_SCOPE_DEPTH, MAX_SCOPES, ScopeValue, scope_kind};

/// One scope.
#[derive(Default)]
pub(super) struct Scope {
    /// The record as it is written to the recording, except that strings are added at the end, and
    /// that `entered` is also used for fields.
    pub(super) value: ScopeValue,
    pub(super) name: String,
    pub(super) type_name: &'static str,
    /// The first of the scopes below, and the next sibling. 0 means none.
    pub(super) below: u32,
    pub(super) beside: u32,
}

/// All scopes. The first is the root.
pub(super) struct Scopes {
    pub(super) all: Vec<Scope>,
    /// Number of scopes that did not fit.
    pub(super) lost: u64,
}

impl Scopes {
    pub(super) fn new() -> Option<Scopes> {
        let mut all = Vec::new();
        all.try_reserve(16).ok()?;
        all.push(Scope::default());
        Some(Scopes { all, lost: 0 })
    }

    /// Returns the phase called `name` under `parent`, creating it if it is new. Does not count an
    /// entry.
    pub(super) fn phase(&mut self, parent: u32, name: &str) -> Added {
        let mut next = self.get(parent).map_or(0, |scope| scope.below);
        while let Some(scope) = self.get(next).filter(|_| next != 0) {
            if scope.value.kind == scope_kind::PHASE && scope.name == name {
                return Added::Scope(next);
            }
            next = scope.beside;
        }
        self.add(Scope {
            value: ScopeValue {
                parent,
                kind: scope_kind::PHASE,
                ..ScopeValue::default()
            },
            name: owned(name),
            ..Scope::default()
        })
    }

    /// Adds a scope. Fills in its depth and its siblings.
    pub(super) fn add(&mut self, mut scope: Scope) -> Added {
        let value = &mut scope.value;
        let Some(parent) = self.all.get(value.parent as usize) else {
            return Added::Full;
        };
        value.depth = parent.value.depth + 1;
        scope.beside = parent.below;
        if value.depth > MAX_SCOPE_DEPTH {
            return Added::Deep;
        }
        if self.all.len() >= MAX_SCOPES || self.all.try_reserve(1).is_err() {
            return Added::Full;
        }
        let (number, parent) = (self.all.len() as u32, scope.value.parent as usize);
        self.all.push(scope);
        if let Some(parent) = self.all.get_mut(parent) {
            parent.below = number;
        }
        Added::Scope(number)
    }

    /// Changes a scope, if it exists. The root is never changed.
    pub(super) fn change(&mut self, number: u32, change: impl FnOnce(&mut Scope)) {
        if number != 0
            && let Some(scope) = self.all.get_mut(number as usize)
        {
            change(scope);
        }
    }

    fn get(&self, number: u32) -> Option<&Scope> {
        self.all.get(number as usize)
    }
}

/// Copies a name. The copy is empty if there is no memory for it.
pub(super) fn owned(name: &str) -> String {
    let mut copy = String::new();
    if copy.try_reserve_exact(name.len()).is_ok() {
        copy.push_str(name);
    }
    copy
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_for_as_many_scopes_as_in_a_mapped_recording() {
        let mut scopes = Scopes::new().expect("memory");
        for number in 1..MAX_SCOPES as u32 {
            assert!(matches!(scopes.add(Scope::default()), Added::Scope(new) if new == number));
        }
        assert!(matches!(scopes.add(Scope::default()), Added::Full));
    }
}
