//! Cases of source S4.

use crate::gauntlet::Case;

/// All of them, in the order of the source.
pub(in crate::gauntlet) const CASES: &[Case] = &[];
