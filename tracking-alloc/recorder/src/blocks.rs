//! The live blocks that a recording knows, by address.

pub use crate::shadow::{Block, Finder, block_from};
pub use crate::sys::{word_at, words};

/// Returns the live block that contains `address`. Returns `None` if nothing records, or if no
/// known block is there.
///
/// Other threads may free the block at any moment. To look up many addresses, use a [`Finder`].
pub fn block_of(address: usize) -> Option<Block> {
    let live_bytes = crate::footprints::live_bytes()?;
    Finder::new(usize::try_from(live_bytes).ok()?).block_at(address)
}
