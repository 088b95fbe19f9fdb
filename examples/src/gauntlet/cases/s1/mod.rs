//! Cases of source S1.

use crate::gauntlet::Case;

/// All of them, in the order of the source.
pub(in crate::gauntlet) const CASES: &[Case] = &[];
