//! Values that lie in memory that is never given back: whoever still refers to one refers to a value.
//!
//! From the system, past the counted allocator.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering::*};

/// What a pool holds. All-zero bytes must be a value that nobody uses.
pub(super) trait Reusable: Sized + 'static {
    /// A value that nobody uses.
    const UNUSED: Self;

    /// Takes the value. False when somebody uses it.
    fn claim(&self) -> bool;
}

pub(super) const CHUNK: usize = 64;

/// Values, and where there are more.
struct Chunk<T> {
    values: [T; CHUNK],
    next: AtomicPtr<Chunk<T>>,
}

pub(super) struct Pool<T: 'static> {
    first: Chunk<T>,
    /// One given back lately.
    free: AtomicPtr<T>,
}

impl<T: Reusable> Pool<T> {
    pub(super) const fn new() -> Self {
        Pool {
            first: Chunk {
                values: [const { T::UNUSED }; CHUNK],
                next: AtomicPtr::new(null_mut()),
            },
            free: AtomicPtr::new(null_mut()),
        }
    }

    /// A value that nobody used, which is the caller's until it says that it is unused again.
    pub(super) fn take(&'static self) -> &'static T {
        // SAFETY: null or a value, which is never unmapped.
        let free = unsafe { self.free.load(Acquire).as_ref() };
        if let Some(value) = free.filter(|value| value.claim()) {
            return value;
        }
        let mut chunk = &self.first;
        loop {
            if let Some(value) = chunk.values.iter().find(|value| value.claim()) {
                return value;
            }
            chunk = chunk.next().unwrap_or(&self.first);
        }
    }

    /// Says which value was given back.
    pub(super) fn note_free(&self, value: &'static T) {
        self.free
            .store(std::ptr::from_ref(value).cast_mut(), Release);
    }
}

impl<T> Chunk<T> {
    /// The next one, made if there is none.
    #[cold]
    fn next(&self) -> Option<&'static Chunk<T>> {
        if let Some(next) = self.known() {
            return Some(next);
        }
        let layout = Layout::new::<Chunk<T>>();
        // SAFETY: the layout has a size. Zeros are a chunk of unused values.
        let made = unsafe { System.alloc_zeroed(layout) }.cast::<Chunk<T>>();
        if made.is_null() {
            std::alloc::handle_alloc_error(layout);
        }
        if self
            .next
            .compare_exchange(null_mut(), made, AcqRel, Acquire)
            .is_err()
        {
            // SAFETY: just made here, and nobody has seen it.
            unsafe { System.dealloc(made.cast(), layout) };
        }
        self.known()
    }

    fn known(&self) -> Option<&'static Chunk<T>> {
        // SAFETY: null or a chunk, which is never given back.
        unsafe { self.next.load(Acquire).as_ref() }
    }
}
