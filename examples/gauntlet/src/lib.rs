//! The gauntlet: every technique of the sources as a small program, so that it can be run, profiled
//! and compared.
//!
//! A [`Case`] is one row of the sources. Its [`Variant`]s do the same work in different ways; the
//! first is the baseline. Each variant runs in its own process, inside a [`Window`]. Nothing here
//! reads a recording.

#![cfg_attr(feature = "nightly", feature(allocator_api))]

mod allocator;
mod calls;
mod case;
pub mod cases;
mod claim;
mod code;
pub mod data;
mod pages;
mod program;
mod remedy;
mod window;

pub use allocator::Gauntlet;
pub use case::{Case, Found, Source, Variant, all, find};
pub use claim::{Claim, Compared, Judged, Span, Verdict};
pub use remedy::{Bound, REMEDIES, Remedy, WITHOUT};
pub use window::{Pass, Shown, Window, run_child};
