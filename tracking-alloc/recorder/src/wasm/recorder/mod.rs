//! The second, small recorder: for one thread, in memory, for programs without files, threads and
//! stacks (WebAssembly).
//!
//! ```text
//!   event ──▶ Recorder ──▶ Blocks   address -> row, in pages of its own
//!                    └───▶ Rows     counters of each scope; the peak as in the mapped recording
//!             scopes ────▶ Scopes   phases and fields
//!   recording() ─▶ encode ─▶ bytes as `tracking-alloc-recording` says
//! ```
//! Here, a scope is a site. This folder does not know the hook, which only passes events to it. So
//! its arithmetic can be tested on any machine. It must never panic. Anything that does not fit is
//! counted as lost.

mod blocks;
mod encode;
mod module_recorder;
mod rows;
mod scope_table;
#[cfg(test)]
mod tests;

pub(crate) use module_recorder::{Linear, Recorder};
