//! A table by number in two levels. Only used parts take memory.

use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicPtr, Ordering::*};

/// Values of one chunk.
pub(crate) const CHUNK: usize = 512;

/// `CHUNKS` times [`CHUNK`] values by number, in chunks that are never unmapped. All-zero bytes are
/// an empty table.
///
/// NOTE: chunks come zeroed from the system, so whoever finds one sees zeros or what was stored
/// there since: no further order is needed.
pub(crate) struct Chunked<T, const CHUNKS: usize>([AtomicPtr<T>; CHUNKS]);

impl<T: 'static, const CHUNKS: usize> Chunked<T, CHUNKS> {
    pub(crate) const fn new() -> Self {
        Chunked([const { AtomicPtr::new(null_mut()) }; CHUNKS])
    }

    /// PERF: what a number has above the last one falls away.
    #[inline(always)]
    fn chunk(&self, number: u32) -> &AtomicPtr<T> {
        &self.0[number as usize / CHUNK % CHUNKS]
    }

    /// The value of a number, if its chunk was made.
    #[inline(always)]
    pub(crate) fn get(&self, number: u32) -> Option<&'static T> {
        let chunk = self.chunk(number).load(Relaxed);
        // SAFETY: a chunk has CHUNK values and is never unmapped.
        (!chunk.is_null()).then(|| unsafe { &*chunk.add(number as usize % CHUNK) })
    }

    /// The value of a number; `make` gives zeroed memory for a chunk, in which zeros must be a
    /// value. By one thread at a time.
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

    /// The values of all chunks, by number.
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
