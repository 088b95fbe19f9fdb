//! Programs that are recorded, and what is in their recordings: one program for all tests, since each costs as much to
//! link as most of them to run. `tests/budget.rs` has an allocator of its own.

#[path = "../common/mod.rs"]
mod common;

mod agree;
mod awkward;
mod c;
mod fields;
mod footprints;
mod hostile;
mod inner;
mod oracles;
mod phases;
mod processes;
mod survival;
mod tasks;
mod threads;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod types;
