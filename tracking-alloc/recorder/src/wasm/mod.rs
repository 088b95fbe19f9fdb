//! Recording in a WebAssembly module: scopes and counters in memory, no stacks.
//!
//! The module has one thread and no environment, so it starts the recording and returns its bytes
//! itself. tracking-alloc's module `wasm` documents what is recorded.

#[cfg(in_memory)]
pub(crate) mod hook;
#[cfg(in_memory)]
mod pages;
mod recorder;
#[cfg(in_memory)]
pub(crate) mod scopes;
#[cfg(in_memory)]
mod start;

#[cfg(in_memory)]
pub use start::{Memory, memory, recording, start};
