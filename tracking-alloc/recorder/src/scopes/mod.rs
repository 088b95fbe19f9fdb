//! The current scope of a thread, and the scopes of the recording.
//!
//! A scope is a phase, or a field of the data that the thread reads. Scopes form a tree; scope 0 is
//! its root. Each event counts in the current scope of its thread, which is a number in a
//! thread-local word. [`set`] changes it; [`enter`] and [`add`] make new scopes.
//!
//! ```
//! use heapglass_recorder::scopes;
//!
//! let before = scopes::current();
//! if let Some(scope) = scopes::enter(before, "load") {
//!     scopes::set(scope);
//!     // ... events count in "load" ...
//!     scopes::set(before);
//! }
//! ```
//!
//! While nothing records, there are no scopes, and these functions do nothing. None of them
//! allocates through the observed allocator. A scope that does not fit is counted at its parent,
//! and the recording says so.
//!
//! The reasons for its choices are in `docs/src/decisions/phases-and-fields.md`.

#[cfg(recording)]
mod fields;
#[cfg(recording)]
mod recorded;
#[cfg(not(any(recording, in_memory)))]
mod unrecorded;

pub use crate::current_scope::{Added, NewScope, ScopeGuard, current, set};

#[cfg(recording)]
mod platform {
    pub(super) use super::fields::*;
    pub(super) use super::recorded::{Running, Stayed, enter, outermost_ended, report};
    pub(super) use crate::hook::{visit, visit_again};
}
#[cfg(in_memory)]
use crate::wasm::scopes as platform;
#[cfg(not(any(recording, in_memory)))]
use unrecorded as platform;

/// Enters the phase `name` in the scope `parent`: creates it if it does not exist, and counts an
/// entry. Returns its number, or `None` if the table of scopes is full or nothing records. This
/// does not change the current scope; see [`set`].
pub fn enter(parent: u32, name: &str) -> Option<u32> {
    platform::enter(parent, name)
}

/// Adds to the figures that the program reports for a scope: bytes of input, and records read.
pub fn report(scope: u32, bytes: u64, records: u64) {
    platform::report(scope, bytes, records);
}

/// Tells the recorder that work in an outermost scope, one inside scope 0, has ended. The recording
/// then keeps what each site holds, if that was not kept just before.
pub fn outermost_ended(scope: u32) {
    platform::outermost_ended(scope);
}

/// Returns a number that identifies the current recording. A forked child's own recording has
/// another number. Returns 0 if nothing records.
#[inline]
pub fn generation() -> u32 {
    platform::generation()
}

/// Adds the scope of a field.
pub fn add(new: &NewScope<'_>) -> Added {
    platform::add(new)
}

/// Sets flags of a scope, from `scope_flags` in the layout of a recording.
pub fn flag(scope: u32, flags: u32) {
    platform::flag(scope, flags);
}

/// Gives a scope another kind and name, for a source that learns later what the scope is.
pub fn rename(scope: u32, kind: u32, name: &str) {
    platform::rename(scope, kind, name);
}

/// Gives a scope the type of its values, for a source that learns it later.
pub fn retype(scope: u32, type_name: &'static str, value_bytes: u64) {
    platform::retype(scope, type_name, value_bytes);
}

/// Counts that the calling thread enters the scope of a field.
#[inline(always)]
pub fn visit(scope: u32) {
    platform::visit(scope);
}

/// Counts a visit of a scope that the thread has counted before. Returns `false` without counting
/// if [`visit`] is needed.
#[inline(always)]
pub fn visit_again(scope: u32) -> bool {
    platform::visit_again(scope)
}

/// Counts a request for a scope that did not fit.
pub fn lost() {
    platform::lost();
}

/// A guard of one entry of a phase. When it is dropped, its time is added to that of the phase.
pub struct Running {
    _platform: platform::Running,
}

impl Running {
    /// Begins the time of an entry. Returns `None` for scope 0, if nothing records, or if the
    /// platform has no clock. Until each entry of a phase has ended, its time is unknown.
    pub fn begin(phase: u32) -> Option<Running> {
        platform::Running::begin(phase).map(|platform| Running {
            _platform: platform,
        })
    }
}

impl std::fmt::Debug for Running {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Running").finish_non_exhaustive()
    }
}

/// A guard during which the calling thread is in a scope. When it is dropped, the bytes that the
/// thread allocated and did not free in the meantime count as staying after the scope.
pub struct Stayed {
    _platform: platform::Stayed,
}

impl Stayed {
    /// Begins to count for a scope. Returns `None` for scope 0, if nothing records, or if the
    /// thread has no lane of its own. In the last case, the scope states that the bytes that stayed
    /// are unknown.
    pub fn enter(scope: u32) -> Option<Stayed> {
        platform::Stayed::enter(scope).map(|platform| Stayed {
            _platform: platform,
        })
    }
}

impl std::fmt::Debug for Stayed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stayed").finish_non_exhaustive()
    }
}
