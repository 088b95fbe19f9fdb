//! A two-level table indexed by number. Only used parts take memory.

use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicPtr, Ordering::*};

/// The number of values in a chunk.
pub(crate) const CHUNK: usize = 512;

/// A table of `CHUNKS` times [`CHUNK`] values, indexed by number, in chunks that are never
/// unmapped. All-zero bytes are an empty table.
///
/// NOTE: the system provides zeroed chunks, so a reader that finds a chunk sees zeros or values
/// stored since. No stronger memory order is needed.
pub(crate) struct Chunked<T, const CHUNKS: usize>([AtomicPtr<T>; CHUNKS]);

impl<T: 'static, const CHUNKS: usize> Chunked<T, CHUNKS> {
    pub(crate) const fn new() -> Self {
        Chunked([const { AtomicPtr::new(null_mut()) }; CHUNKS])
    }

    /// PERF: a number above the last one wraps around, so no bounds check is needed.
    #[inline(always)]
    fn chunk(&self, number: u32) -> &AtomicPtr<T> {
        &self.0[number as usize / CHUNK % CHUNKS]
    }

    /// Returns the value of a number, if its chunk exists.
    #[inline(always)]
    pub(crate) fn get(&self, number: u32) -> Option<&'static T> {
        let chunk = self.chunk(number).load(Relaxed);
        // SAFETY: a chunk has CHUNK values and is never unmapped.
        (!chunk.is_null()).then(|| unsafe { &*chunk.add(number as usize % CHUNK) })
    }

    /// Returns the value of a number, and makes its chunk if necessary. `make` returns zeroed
    /// memory for a chunk, so zeros must be a valid value. Only one thread at a time may call this.
    pub(crate) fn get_or_make(
        &self,
        number: u32,
        make: impl FnOnce() -> Option<NonNull<T>>,
    ) -> Option<&'static T> {
        let chunk = self.chunk(number);
        if chunk.load(Relaxed).is_null() {
            chunk.store(make()?.as_ptr(), Relaxed);
        }
        self.get(number)
    }

    /// Returns the values of all chunks, in the order of their numbers.
    pub(crate) fn all(&self) -> impl Iterator<Item = &'static T> {
        let chunks = self.0.iter().map(|chunk| chunk.load(Relaxed));
        chunks
            .filter(|chunk| !chunk.is_null())
            // SAFETY: as in `get`.
            .flat_map(|chunk| unsafe { std::slice::from_raw_parts(chunk, CHUNK) })
    }

    /// Forgets all chunks.
    pub(crate) fn forget(&self) {
        self.0
            .iter()
            .for_each(|chunk| chunk.store(null_mut(), Release));
    }
}
