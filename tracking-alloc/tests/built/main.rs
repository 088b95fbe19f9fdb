//! Programs built with several flags, with and without frame pointers, each in a target folder of
//! its own.

mod build;
#[cfg(target_os = "linux")]
mod sandbox;
mod stacks;
mod unwinders;
