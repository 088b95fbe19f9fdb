//! Files the command touches: what it writes, where recordings go, which recordings there are.
//!
//! Must never truncate a file, replace one before its successor is whole, or give two recordings one path.

pub(crate) mod output;
pub(crate) mod peek;
pub(crate) mod place;
pub(crate) mod recent;
pub(crate) mod recover;
