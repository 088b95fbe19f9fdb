//! "Allocating less: really thin Rust cloud apps".

mod airlines;

use crate::gauntlet::Case;

/// All of them, in the order of the source.
pub(in crate::gauntlet) const CASES: &[Case] = &[airlines::CASE];
