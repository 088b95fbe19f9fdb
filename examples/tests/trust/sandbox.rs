//! What the system refuses or makes unusual: limits, no /proc, small stacks, foreign stacks, unloaded libraries.
//! (`tracking-alloc/tests/built/sandbox.rs` has seccomp and the figures of stack.)

mod libraries;
mod limits;
mod stacks;
