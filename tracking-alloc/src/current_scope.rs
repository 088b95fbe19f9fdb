//! The scope a thread is in: one number in a thread-local word; and how a new one is asked for.

use crate::thread;

/// A scope of a field, to be added.
#[cfg(feature = "serde")]
#[cfg_attr(
    not(any(recording, in_memory, test)),
    expect(dead_code, reason = "only whole platforms record")
)]
pub(crate) struct NewScope<'a> {
    pub(crate) parent: u32,
    pub(crate) kind: u32,
    pub(crate) flags: u32,
    /// Empty for kinds that have none.
    pub(crate) name: &'a str,
    /// Empty where nothing is known.
    pub(crate) type_name: &'static str,
    pub(crate) value_bytes: u64,
}

/// What came of adding a scope.
#[cfg(any(in_memory, feature = "serde", test))]
#[cfg_attr(
    not(any(recording, in_memory, test)),
    expect(dead_code, reason = "only whole platforms record")
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Added {
    /// This is its number.
    Scope(u32),
    /// It would lie too deep.
    Deep,
    /// There is no room.
    Full,
    /// Nothing records, or the hook is at work in this very thread.
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

/// When it is dropped, also when something panics, the thread is in the scope `back`.
pub(crate) struct ScopeGuard {
    pub(crate) back: u32,
}

impl Drop for ScopeGuard {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn drop(&mut self) {
        set(self.back);
    }
}
