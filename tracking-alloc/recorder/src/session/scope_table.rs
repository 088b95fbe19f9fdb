//! The table of scopes, which is bounded. Phases are found by parent and name; fields are added by
//! the tree, which knows that they are new.
//!
//! Events of a scope that does not fit are counted at its parent. The program keeps scopes in
//! guards, futures and thread-locals, where they may outlive their recording. Scopes therefore
//! contain the generation of their recording. If a forked child has a recording of its own, the
//! scopes of its parent process have the [number](scope_number) 0 there.

use super::{Writer, current_tag};
use crate::current_scope::{Added, NewScope};
use crate::sys::{CHUNK, Chunked};
use std::ptr::from_ref;
use std::sync::atomic::{AtomicPtr, Ordering::*};
use tracking_alloc_recording::{MAX_SCOPE_DEPTH, MAX_SCOPES, Scope, ScopeValue, scope_kind, table};

/// The records by number, to count entries without the lock.
static RECORDS: Chunked<AtomicPtr<Scope>, { MAX_SCOPES / CHUNK }> = Chunked::new();

/// Number of bits of a scope that are its number. The bits above are the low bits of its
/// recording's tag.
const NUMBER_BITS: u32 = MAX_SCOPES.trailing_zeros();

/// Returns the bits of the current recording's tag, shifted to their place in a scope: 12 bits of
/// the generation.
fn generation_bits() -> u32 {
    current_tag() << NUMBER_BITS
}

/// Returns the number of a scope in the current recording, or 0 (the root) if the scope is from
/// another recording.
pub(crate) fn scope_number(scope: u32) -> u32 {
    const NUMBER: u32 = (1 << NUMBER_BITS) - 1;
    if scope & !NUMBER == generation_bits() {
        scope & NUMBER
    } else {
        0
    }
}

/// Returns the record of a scope other than the root. Only threads that count as inside the hook
/// may write to it.
pub(crate) fn scope_record(scope: u32) -> Option<&'static Scope> {
    Some(scope_number(scope))
        .filter(|number| *number != 0)
        .and_then(numbered)
}

fn numbered(number: u32) -> Option<&'static Scope> {
    // SAFETY: null or a record, which is mapped while the recording is current.
    unsafe { RECORDS.get(number)?.load(Acquire).as_ref() }
}

fn depth_under(parent: u32) -> u32 {
    numbered(parent).map_or(0, |record| record.depth.load(Relaxed)) + 1
}

/// Forgets all scopes, for a forked child that starts its own recording.
pub(crate) fn forget_scopes() {
    RECORDS.forget();
}

impl Writer {
    /// Returns the phase `name` under `parent`, or `None` if there is no room.
    pub(crate) fn phase(&mut self, parent: u32, name: &[u8]) -> Option<u32> {
        let number = self.phase_number(scope_number(parent), name)?;
        Some(number | generation_bits())
    }

    fn phase_number(&mut self, parent: u32, name: &[u8]) -> Option<u32> {
        let key = |name: u32| u64::from(parent) << 32 | u64::from(name);
        if let Some(name) = self.known_string(name)
            && let Some(known) = self.find(table::SCOPES, key(name))
        {
            return Some(known);
        }
        if depth_under(parent) > MAX_SCOPE_DEPTH || self.len(table::SCOPES) >= MAX_SCOPES as u64 {
            return None;
        }
        // Phases without names cannot be distinguished.
        let name = Some(self.string(name)).filter(|name| *name != 0)?;
        let phase = ScopeValue {
            parent,
            kind: scope_kind::PHASE,
            name,
            ..ScopeValue::default()
        };
        self.add_scope(phase, Some(key(name)))
    }

    /// Adds the scope of a field.
    pub(crate) fn add_field(&mut self, new: &NewScope<'_>) -> Added {
        let parent = scope_number(new.parent);
        if depth_under(parent) > MAX_SCOPE_DEPTH {
            return Added::Deep;
        }
        if self.len(table::SCOPES) >= MAX_SCOPES as u64 {
            return Added::Full;
        }
        let scope = ScopeValue {
            parent,
            kind: new.kind,
            flags: new.flags,
            value_bytes: new.value_bytes,
            name: self.name(new.name.as_bytes()),
            type_name: self.name(new.type_name.as_bytes()),
            ..ScopeValue::default()
        };
        let added = self.add_scope(scope, None);
        added.map_or(Added::Full, |added| Added::Scope(added | generation_bits()))
    }

    /// Adds a scope, which can be found by its key if it has one.
    fn add_scope(&mut self, scope: ScopeValue, key: Option<u64>) -> Option<u32> {
        let number = self.len(table::SCOPES) as u32;
        let place = RECORDS.get_or_make(number, || self.bump.take(CHUNK))?;
        let depth = depth_under(scope.parent);
        let scope = ScopeValue { depth, ..scope };
        let (number, record) = match key {
            Some(key) => self.add_keyed(key, scope),
            None => self.add(scope),
        }?;
        place.store(from_ref(record).cast_mut(), Release);
        Some(number)
    }
}
