//! Memory that is never freed, so that references to it stay valid for the rest of the process.
//!
//! It never comes from the observed allocator. On platforms that record to files it comes from the
//! kernel, because the observed allocator may be libc's. On other platforms it comes from the
//! system's allocator.

#[cfg(recording)]
pub use crate::sys::map_private as map;

#[cfg(recording)]
use crate::sys::{PAGE, count_own, uncount_own};
use std::alloc::Layout;
#[cfg(not(recording))]
use std::alloc::{GlobalAlloc, System};
use std::ptr::{NonNull, null_mut};
#[cfg(recording)]
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::{AtomicPtr, Ordering::*};

/// A leaked value that any thread may set and read, or none. All-zero bytes mean none.
#[derive(Debug)]
pub struct Link<T: 'static>(AtomicPtr<T>);

impl<T: Sync> Link<T> {
    /// Creates an empty link.
    pub const fn new() -> Self {
        Link(AtomicPtr::new(null_mut()))
    }

    /// Returns the value, if there is one.
    #[inline(always)]
    pub fn get(&self) -> Option<&'static T> {
        // SAFETY: null or a value that is never freed.
        unsafe { self.0.load(Acquire).as_ref() }
    }

    /// Sets or removes the value.
    #[inline(always)]
    pub fn set(&self, value: impl Into<Option<&'static T>>) {
        self.0.store(pointer(value.into()), Release);
    }

    /// Sets the value if there is none. Otherwise returns the existing value.
    pub fn set_first(&self, value: &'static T) -> Option<&'static T> {
        match self
            .0
            .compare_exchange(null_mut(), pointer(Some(value)), AcqRel, Acquire)
        {
            Ok(_) => None,
            Err(_) => self.get(),
        }
    }
}

impl<T: Sync> Default for Link<T> {
    fn default() -> Self {
        Link::new()
    }
}

fn pointer<T>(value: Option<&'static T>) -> *mut T {
    value.map_or(null_mut(), |value| std::ptr::from_ref(value).cast_mut())
}

/// Returns zeroed memory for `count` values, or `None` if memory ran out.
pub fn zeroed<T>(count: usize) -> Option<NonNull<T>> {
    let layout = Layout::array::<T>(count).ok()?;
    if layout.size() == 0 {
        return None;
    }
    memory(layout).map(NonNull::cast)
}

/// Takes zeroed memory from pages of our own, because the observed allocator may be libc's.
///
/// It takes no lock, so it works in signal handlers and in forked children.
#[cfg(recording)]
fn memory(layout: Layout) -> Option<NonNull<u8>> {
    const CHUNK_BYTES: usize = 64 << 10;

    /// The start of a chunk.
    struct Chunk {
        /// Bytes given out, including this header. It may exceed the size of the chunk.
        used: AtomicUsize,
    }

    static CHUNK: AtomicPtr<Chunk> = AtomicPtr::new(null_mut());

    let room = layout.size().checked_add(layout.align() - 1)?;
    if room > CHUNK_BYTES / 4 {
        return map(room).map(|place| aligned(place, layout.align()));
    }
    loop {
        let chunk = CHUNK.load(Acquire);
        // SAFETY: null or a published chunk, which is never unmapped.
        if let Some(header) = unsafe { chunk.as_ref() } {
            let start = header.used.fetch_add(room, Relaxed);
            let end = start.saturating_add(room);
            if end <= CHUNK_BYTES {
                count_own(end / PAGE * PAGE - start / PAGE * PAGE);
                // SAFETY: the place lies inside the chunk.
                let place = unsafe { NonNull::new_unchecked(chunk.cast::<u8>().add(start)) };
                return Some(aligned(place, layout.align()));
            }
        }
        let new = map(CHUNK_BYTES)?.cast::<Chunk>();
        count_own(PAGE);
        // SAFETY: a zeroed header that nobody else knows yet.
        unsafe { new.as_ref() }
            .used
            .store(size_of::<Chunk>(), Relaxed);
        if CHUNK
            .compare_exchange(chunk, new.as_ptr(), AcqRel, Relaxed)
            .is_err()
        {
            // SAFETY: mapped above with this size, and no other thread knows it.
            unsafe { libc::munmap(new.as_ptr().cast(), CHUNK_BYTES) };
            uncount_own(PAGE);
        }
    }
}

/// Returns the first aligned address at or after `place`, which has room for the difference.
#[cfg(recording)]
fn aligned(place: NonNull<u8>, align: usize) -> NonNull<u8> {
    // SAFETY: the caller guarantees that there is room. The sum is not null.
    unsafe { place.add(place.align_offset(align)) }
}

/// Takes zeroed memory from the system's allocator.
#[cfg(not(recording))]
fn memory(layout: Layout) -> Option<NonNull<u8>> {
    // SAFETY: the layout is not empty.
    NonNull::new(unsafe { System.alloc_zeroed(layout) })
}

/// Leaks a value. Returns `None` if memory ran out.
pub fn leak<T>(value: T) -> Option<&'static T> {
    let place = zeroed::<T>(1)?;
    // SAFETY: memory for one `T` that was just taken. Nobody else reaches it, and it is never
    // freed.
    unsafe {
        place.write(value);
        Some(place.as_ref())
    }
}

/// Leaks a copy of a text.
pub fn leak_str(text: &str) -> Option<&'static str> {
    if text.is_empty() {
        return Some("");
    }
    let place = zeroed::<u8>(text.len())?;
    // SAFETY: memory for that many bytes that was just taken. A copy of UTF-8 is UTF-8.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr(), place.as_ptr(), text.len());
        Some(std::str::from_utf8_unchecked(std::slice::from_raw_parts(
            place.as_ptr(),
            text.len(),
        )))
    }
}

#[cfg(all(test, recording))]
mod tests {
    use super::*;

    #[test]
    fn memory_is_aligned_zeroed_and_given_to_one_alone() {
        #[repr(align(64))]
        #[derive(Clone, Copy)]
        struct Wide([u8; 64]);

        let threads: Vec<_> = (0..4u8)
            .map(|thread| {
                std::thread::spawn(move || {
                    let mut mine = Vec::new();
                    for round in 1..400usize {
                        let bytes = zeroed::<u8>(round).expect("memory");
                        let wide = zeroed::<Wide>(1 + round / 100).expect("memory");
                        let large = zeroed::<u64>(if round % 100 == 0 { 10_000 } else { 1 });
                        assert!(wide.is_aligned() && large.expect("memory").is_aligned());
                        // SAFETY: memory for that many values that was just taken.
                        unsafe {
                            assert!(wide.read().0.iter().all(|byte| *byte == 0));
                            let slice = std::slice::from_raw_parts_mut(bytes.as_ptr(), round);
                            assert!(slice.iter().all(|byte| *byte == 0));
                            slice.fill(thread + 1);
                            wide.write(Wide([thread + 1; 64]));
                            mine.push(&*slice);
                        }
                    }
                    let is_mine = |slice: &&[u8]| slice.iter().all(|byte| *byte == thread + 1);
                    assert!(mine.iter().all(is_mine));
                })
            })
            .collect();
        threads
            .into_iter()
            .for_each(|thread| thread.join().expect("it ends"));
    }
}
