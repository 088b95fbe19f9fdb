//! The cases, one folder per source. They depend on tracking-alloc and on the crates they try, and
//! do not read recordings.

pub(super) mod real;
pub(super) mod s0;
pub(super) mod s1;
pub(super) mod s2;
pub(super) mod s3;
pub(super) mod s4;
mod said;
