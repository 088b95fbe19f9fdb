//! The table of scopes: phases, found by parent and name, and fields, which the tree of `Profiled`
//! already found new.
//!
//! The same bounds as in the mapped recording. A scope without room is counted at its parent, and
//! said so.

use crate::current_scope::Added;
use tracking_alloc_recording::{MAX_SCOPE_DEPTH, MAX_SCOPES, ScopeValue, scope_kind};

/// One scope.
#[derive(Default)]
pub(super) struct Scope {
    /// As in the recording, but for its strings, which are put there at the end, and with `entered`
    /// of fields too.
    pub(super) value: ScopeValue,
    pub(super) name: String,
    pub(super) type_name: &'static str,
    /// First of the scopes below, and the next one beside; 0 = none.
    pub(super) below: u32,
    pub(super) beside: u32,
}

/// All of them; the first is the root.
pub(super) struct Scopes {
    pub(super) all: Vec<Scope>,
    /// Times one found no room.
    pub(super) lost: u64,
}

impl Scopes {
    pub(super) fn new() -> Option<Scopes> {
        let mut all = Vec::new();
        all.try_reserve(16).ok()?;
        all.push(Scope::default());
        Some(Scopes { all, lost: 0 })
    }

    /// The phase called `name` under `parent`, made when it is new. Not entered yet.
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

    /// Adds a scope; depth and neighbours are filled in here.
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

    /// Changes one, if there is such a scope; the root is never changed.
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

/// A copy of a name; empty when there is no memory for it.
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
