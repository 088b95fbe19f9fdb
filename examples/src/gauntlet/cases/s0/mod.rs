//! Cases of source S0.

use crate::gauntlet::Case;

/// All of them, in the order of the source.
pub(in crate::gauntlet) const CASES: &[Case] = &[];
