//! The current scope of a thread, which is a number in a thread-local word, and requests for new
//! scopes.

use crate::thread;

/// A request to add the scope of a field.
#[derive(Clone, Copy, Debug)]
pub struct NewScope<'a> {
    /// The number of the enclosing scope.
    pub parent: u32,
    /// A value of `scope_kind` in the layout of a recording.
    pub kind: u32,
    /// Values of `scope_flags` in the layout of a recording.
    pub flags: u32,
    /// The name. It is empty for kinds without one.
    pub name: &'a str,
    /// The type name. It is empty if it is not known.
    pub type_name: &'static str,
    /// The size of a value in bytes, or 0 if it is not known.
    pub value_bytes: u64,
}

/// The result of adding a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    /// The scope exists and has this number.
    Scope(u32),
    /// The scope would be too deep.
    Deep,
    /// The scope table is full.
    Full,
    /// Nothing records, or the hook is running in this thread.
    NotNow,
}

/// Returns the number of the calling thread's current scope; 0 is the root.
#[inline(always)]
pub fn current() -> u32 {
    thread::with(|thread| thread.scope.get()).unwrap_or(0)
}

/// Sets the current scope of the calling thread.
#[inline(always)]
pub fn set(scope: u32) {
    thread::with(|thread| thread.scope.set(scope));
}

/// A guard that returns the thread to the scope `back` when it is dropped, also after a panic.
#[derive(Debug)]
pub struct ScopeGuard {
    /// The scope to return to.
    pub back: u32,
}

impl Drop for ScopeGuard {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn drop(&mut self) {
        set(self.back);
    }
}
