//! The counters that rows, threads and marks have in common: one list for the layout, the recorder
//! and the readers.

use crate::words::Word;
use std::sync::atomic::AtomicU64;

/// Calls a macro with the list of counters. Each entry has the documentation of the counter, its
/// byte offset in a [`Row`](crate::Row), its [`Counter`] and its field.
///
/// Code that needs every counter is generated from this list. To add a counter, add it here and to
/// the structs that the compiler then reports as incomplete.
///
/// ```
/// macro_rules! names {
///     ($($(#[$doc:meta])* $offset:literal $counter:ident $field:ident,)*) => {
///         [$(stringify!($field)),*]
///     };
/// }
/// let names = tracking_alloc_recording::for_each_counter!(names);
/// assert_eq!(names[0], "total_bytes");
/// ```
#[macro_export]
macro_rules! for_each_counter {
    ($callback:ident) => {
        $callback! {
            /// Bytes allocated; a realloc counts its new size.
            0 TotalBytes total_bytes,
            /// Blocks allocated, including reallocs.
            8 TotalBlocks total_blocks,
            /// Bytes freed, including the old size of reallocs.
            16 FreedBytes freed_bytes,
            /// Blocks freed, including the old block of reallocs.
            24 FreedBlocks freed_blocks,
            /// Reallocs to the same or a larger size.
            32 Grows grows,
            /// Reallocs to a smaller size.
            40 Shrinks shrinks,
            /// `min(old, new)` bytes of reallocs that moved their block.
            48 CopiedBytes copied_bytes,
            /// Blocks that their thread freed before its next allocation.
            56 TemporaryBlocks temporary_blocks,
            /// Bytes of `temporary_blocks`.
            64 TemporaryBytes temporary_bytes,
        }
    };
}

macro_rules! define {
    ($($(#[$doc:meta])* $offset:literal $counter:ident $field:ident,)*) => {
        /// One of the counters of a row, in the order of its words.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Counter { $($(#[$doc])* $counter,)* }

        impl Counter {
            /// All counters, in order.
            pub const ALL: [Counter; COUNTERS] = [$(Counter::$counter,)*];
        }

        /// Number of counters.
        pub const COUNTERS: usize = [$(Counter::$counter,)*].len();

        /// The values of all counters, in the order of the first words of a [`Row`](crate::Row).
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Sums { $($(#[$doc])* pub $field: u64,)* }

        impl From<[u64; COUNTERS]> for Sums {
            fn from([$($field,)*]: [u64; COUNTERS]) -> Sums {
                Sums { $($field,)* }
            }
        }

        impl From<Sums> for [u64; COUNTERS] {
            fn from(sums: Sums) -> [u64; COUNTERS] {
                [$(sums.$field,)*]
            }
        }

        impl Sums {
            /// Combines each counter of `self` with the same counter of `other`.
            pub fn zip(self, other: Sums, of: impl Fn(u64, u64) -> u64) -> Sums {
                Sums { $($field: of(self.$field, other.$field),)* }
            }
        }
    };
}
for_each_counter!(define);

impl Sums {
    /// Returns the bytes and blocks allocated and not freed.
    pub fn net(&self) -> (i64, i64) {
        (
            self.total_bytes.wrapping_sub(self.freed_bytes) as i64,
            self.total_blocks.wrapping_sub(self.freed_blocks) as i64,
        )
    }
}

impl Word for Sums {
    type Cell = [AtomicU64; COUNTERS];

    fn parse(bytes: &[u8]) -> Self {
        <[u64; COUNTERS]>::parse(bytes).into()
    }

    fn write(self, out: &mut [u8]) {
        <[u64; COUNTERS]>::from(self).write(out);
    }

    fn load(cells: &Self::Cell) -> Self {
        <[u64; COUNTERS]>::load(cells).into()
    }

    #[inline]
    fn store(self, cells: &Self::Cell) {
        <[u64; COUNTERS]>::from(self).store(cells);
    }
}
