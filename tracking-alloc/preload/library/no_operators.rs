//! On this architecture, `operator new` of an allocator that has its own is not recorded.

use crate::inner::Function;

/// The number of functions.
pub(crate) const OPERATORS: usize = 0;

pub(crate) fn are_found() -> bool {
    false
}

pub(crate) fn find() {}

pub(crate) fn functions() -> [Function; OPERATORS] {
    []
}
