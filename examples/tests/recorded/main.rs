//! Recorded programs and the contents of their recordings. All tests are in one program, because
//! linking one takes as long as running most tests. `tests/budget.rs` has an allocator of its own.

#[path = "../common/mod.rs"]
mod common;

mod advice;
mod agree;
mod awkward;
mod backtraces;
mod c;
mod fields;
mod footprints;
mod growth;
#[cfg(target_os = "linux")]
mod held;
mod hostile;
mod inner;
#[cfg(target_os = "linux")]
mod lengths;
mod oracles;
mod phases;
mod processes;
mod samples;
mod survival;
mod tasks;
mod threads;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod types;
