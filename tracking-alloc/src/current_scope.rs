//! The current scope of a thread, a number in a thread-local word; and requests for new scopes.

use crate::thread;

/// A request to add the scope of a field.
#[cfg(feature = "serde")]
#[cfg_attr(
    not(any(recording, in_memory, test)),
    expect(dead_code, reason = "only whole platforms record")
)]
pub(crate) struct NewScope<'a> {
    pub(crate) parent: u32,
    pub(crate) kind: u32,
    pub(crate) flags: u32,
    /// The name; empty for kinds without one.
    pub(crate) name: &'a str,
    /// The type name; empty if unknown.
    pub(crate) type_name: &'static str,
    pub(crate) value_bytes: u64,
}

/// The result of adding a scope.
#[cfg(any(in_memory, feature = "serde", test))]
#[cfg_attr(
    not(any(recording, in_memory, test)),
    expect(dead_code, reason = "only whole platforms record")
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Added {
    /// The scope exists and has this number.
    Scope(u32),
    /// The scope would be too deep.
    Deep,
    /// The scope table is full.
    Full,
    /// Nothing records, or the hook is running in this thread.
    #[cfg(feature = "serde")]
    NotNow,
}

#[inline(always)]
pub(crate) fn current() -> u32 {
    thread::with(|thread| thread.scope.get()).unwrap_or(0)
}

#[inline(always)]
pub(crate) fn set(scope: u32) {
    thread::with(|thread| thread.scope.set(scope));
}

/// A guard that returns the thread to the scope `back` when it is dropped, also after a panic.
pub(crate) struct ScopeGuard {
    pub(crate) back: u32,
}

impl Drop for ScopeGuard {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn drop(&mut self) {
        set(self.back);
    }
}
