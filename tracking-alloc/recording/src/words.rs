//! One definition of each record for both sides: atomics for the writer, plain values for the
//! reader.
//!
//! The writer casts mapped memory to the atomic struct; the reader parses bytes. Neither side can
//! drift from the other, because [`record!`] makes both from one list of fields and checks every
//! offset at compile time.

use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering::Relaxed};

/// A little-endian word of a record, with the atomic it lives in while it is written.
pub trait Word: Copy + Default {
    /// The type in mapped memory, for the writer.
    type Cell;
    /// Parses the word from little-endian bytes. Input of another length reads as zero.
    fn parse(bytes: &[u8]) -> Self;
    /// Writes the word as little-endian bytes.
    fn write(self, out: &mut [u8]);
    /// Loads the word from mapped memory.
    fn load(cell: &Self::Cell) -> Self;
    /// Stores the word in mapped memory.
    fn store(self, cell: &Self::Cell);
}

macro_rules! word {
    ($($plain:ty => $cell:ty),*) => {$(
        impl Word for $plain {
            type Cell = $cell;
            fn parse(bytes: &[u8]) -> Self {
                bytes.try_into().map_or(0, <$plain>::from_le_bytes)
            }
            fn write(self, out: &mut [u8]) {
                out.iter_mut().zip(self.to_le_bytes()).for_each(|(out, byte)| *out = byte);
            }
            fn load(cell: &$cell) -> Self {
                cell.load(Relaxed)
            }
            #[inline]
            fn store(self, cell: &$cell) {
                cell.store(self, Relaxed);
            }
        }
        impl<const N: usize> Word for [$plain; N]
        where
            [$plain; N]: Default,
        {
            type Cell = [$cell; N];
            fn parse(bytes: &[u8]) -> Self {
                let mut words = Self::default();
                for (word, chunk) in words.iter_mut().zip(bytes.chunks_exact(size_of::<$plain>())) {
                    *word = Word::parse(chunk);
                }
                words
            }
            fn write(self, out: &mut [u8]) {
                let places = out.chunks_exact_mut(size_of::<$plain>());
                self.into_iter().zip(places).for_each(|(word, out)| word.write(out));
            }
            fn load(cells: &[$cell; N]) -> Self {
                let mut words = Self::default();
                words.iter_mut().zip(cells).for_each(|(word, cell)| *word = Word::load(cell));
                words
            }
            #[inline]
            fn store(self, cells: &[$cell; N]) {
                self.into_iter().zip(cells).for_each(|(word, cell)| word.store(cell));
            }
        }
    )*};
}
word!(u32 => AtomicU32, u64 => AtomicU64, i64 => AtomicI64);

/// A record of fixed size that can be parsed from its bytes.
pub trait Record: Copy + Default {
    /// The writer's view of it: atomics in mapped memory.
    type Cells: 'static;
    /// Size in the file, bytes.
    const SIZE: usize;
    /// Parses the record; bytes beyond the end of `bytes` read as zero.
    fn parse(bytes: &[u8]) -> Self;
    /// Writes the record's bytes; bytes beyond the end of `out` are dropped.
    fn write(self, out: &mut [u8]);
    /// Loads every word, in no particular order.
    fn load(cells: &Self::Cells) -> Self;
    /// Stores every word, in no particular order.
    fn store(self, cells: &Self::Cells);

    /// Returns the `SIZE` bytes of the record.
    fn to_bytes(self) -> Vec<u8> {
        let mut bytes = vec![0; Self::SIZE];
        self.write(&mut bytes);
        bytes
    }
}

/// Defines `$name` (atomics, `#[repr(C)]`, for the writer) and `$value` (plain, for the reader)
/// with one layout.
///
/// Every field states its byte offset and the record its size; both are checked at compile time.
/// **Changing any of them changes the layout: increment [`VERSION`](crate::VERSION) and bless the
/// golden recording.**
macro_rules! record {
    ($(#[$meta:meta])* $name:ident / $value:ident, $size:literal {
        $($(#[$field_meta:meta])* $offset:literal $field:ident: $word:ty,)*
    }) => {
        $(#[$meta])*
        ///
        /// The writer's view: atomics in mapped memory. All-zero bytes are a valid, empty record.
        #[repr(C)]
        pub struct $name { $($(#[$field_meta])* pub $field: <$word as crate::words::Word>::Cell,)* }

        $(#[$meta])*
        ///
        /// The reader's view: plain values.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $value { $($(#[$field_meta])* pub $field: $word,)* }

        const _: () = assert!(size_of::<$name>() == $size);
        $(const _: () = assert!(std::mem::offset_of!($name, $field) == $offset);)*

        impl crate::words::Record for $value {
            type Cells = $name;
            const SIZE: usize = $size;
            fn parse(bytes: &[u8]) -> Self {
                $(let $field = bytes.get($offset..$offset + size_of::<$word>()).map_or_else(Default::default, <$word as crate::words::Word>::parse);)*
                $value { $($field,)* }
            }
            fn write(self, out: &mut [u8]) {
                $(if let Some(place) = out.get_mut($offset..$offset + size_of::<$word>()) {
                    crate::words::Word::write(self.$field, place);
                })*
            }
            fn load(cells: &$name) -> Self {
                $value { $($field: crate::words::Word::load(&cells.$field),)* }
            }
            fn store(self, cells: &$name) {
                $(crate::words::Word::store(self.$field, &cells.$field);)*
            }
        }
    };
}
pub(crate) use record;
