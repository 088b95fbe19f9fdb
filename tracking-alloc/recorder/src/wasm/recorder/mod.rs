//! The second, small recorder: for one thread, in memory, for programs without files, threads and
//! stacks (WebAssembly).
//!
//! ```text
//!   event ──▶ Recorder ──▶ Blocks   address -> row, in pages of its own
//!                    └───▶ Rows     counters of each scope; the peak as in the mapped recording
//!             scopes ────▶ Scopes   phases and fields
//!   recording() ─▶ encode ─▶ bytes as `tracking-alloc-recording` says
//! ```
//! Here a scope *is* a site. Nothing in this folder knows of the hook: it is told of events, so
//! that its arithmetic is tested on any machine. Must never panic; what finds no room is counted as
//! lost.

mod blocks;
mod encode;
mod module_recorder;
mod rows;
mod scope_table;
#[cfg(test)]
mod tests;

pub(crate) use module_recorder::{Linear, Recorder};
