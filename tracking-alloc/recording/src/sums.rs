//! The counters that rows, threads and marks have in common.

use crate::RowValue;

/// The first nine words of a [`Row`](crate::Row), as thread and mark records keep them: bytes and
/// blocks allocated, bytes and blocks freed, grows, shrinks, bytes copied, temporary blocks and
/// bytes.
pub type Sums = [u64; 9];

impl RowValue {
    /// Returns the row's first nine words.
    pub fn sums(&self) -> Sums {
        [
            self.total_bytes,
            self.total_blocks,
            self.freed_bytes,
            self.freed_blocks,
            self.grows,
            self.shrinks,
            self.copied_bytes,
            self.temporary_blocks,
            self.temporary_bytes,
        ]
    }
}
