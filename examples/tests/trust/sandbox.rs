//! Restrictions and unusual environments: limits, no /proc, small stacks, foreign stacks, unloaded
//! libraries. (`tracking-alloc/tests/built/sandbox.rs` tests seccomp and the stack usage.)

mod libraries;
mod limits;
mod stacks;
