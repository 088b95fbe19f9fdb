//! The cases, a folder a source. They know tracking-alloc and what they try, nothing of reading recordings.

pub(super) mod real;
pub(super) mod s0;
pub(super) mod s1;
pub(super) mod s2;
pub(super) mod s3;
pub(super) mod s4;
mod said;
