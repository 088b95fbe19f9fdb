//! The table of scopes: bounded, phases found by parent and name, fields added by the tree that
//! already found they are new.
//!
//! What a scope that was refused would count, its parent counts. The program keeps scopes in
//! guards, futures and thread-locals, where they may outlive their recording. So they carry its
//! generation: in a forked child's own recording the scopes of its parent process are
//! [number](scope_number) 0.

use super::{Writer, current_tag};
#[cfg(feature = "serde")]
use crate::current_scope::{Added, NewScope};
use crate::sys::{CHUNK, Chunked};
use std::ptr::from_ref;
use std::sync::atomic::{AtomicPtr, Ordering::*};
use tracking_alloc_recording::{MAX_SCOPE_DEPTH, MAX_SCOPES, Scope, ScopeValue, scope_kind, table};

/// Records by number, to count entries without the lock.
static RECORDS: Chunked<AtomicPtr<Scope>, { MAX_SCOPES / CHUNK }> = Chunked::new();

/// Bits of a scope that are its number; those above are the low bits of its recording's tag.
const NUMBER_BITS: u32 = MAX_SCOPES.trailing_zeros();

/// The tag of the present recording, where scopes have it: it differs by the generation, of which
/// 12 bits fit.
fn generation_bits() -> u32 {
    current_tag() << NUMBER_BITS
}

/// The number of a scope in the present recording; 0 (the root) when it is of another.
pub(crate) fn scope_number(scope: u32) -> u32 {
    const NUMBER: u32 = (1 << NUMBER_BITS) - 1;
    if scope & !NUMBER == generation_bits() {
        scope & NUMBER
    } else {
        0
    }
}

/// The record of a scope other than the root. Only who is counted as inside the hook may write it.
pub(crate) fn scope_record(scope: u32) -> Option<&'static Scope> {
    Some(scope_number(scope))
        .filter(|number| *number != 0)
        .and_then(numbered)
}

fn numbered(number: u32) -> Option<&'static Scope> {
    // SAFETY: null or a record mapped until the process ends.
    unsafe { RECORDS.get(number)?.load(Acquire).as_ref() }
}

fn depth_under(parent: u32) -> u32 {
    numbered(parent).map_or(0, |record| record.depth.load(Relaxed)) + 1
}

/// Forgets all scopes: for a forked child that begins a recording of its own.
pub(crate) fn forget_scopes() {
    RECORDS.forget();
}

impl Writer {
    /// The phase called `name` under `parent`. `None` when there is no room.
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
        // Without their names phases cannot be told apart.
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
    #[cfg(feature = "serde")]
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

    /// A new scope, found by a key if it has one.
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
