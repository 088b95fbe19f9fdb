//! Values in leaked memory that are used again.

use crate::leaked::{self, Link};

/// A value in a pool. All-zero bytes must be an unused value.
pub(super) trait Reusable: Sized + Sync + 'static {
    /// An unused value.
    const UNUSED: Self;

    /// Takes the value. Returns `false` if it is in use.
    fn claim(&self) -> bool;
}

pub(super) const CHUNK: usize = 64;

/// Values, and a link to more.
struct Chunk<T: 'static> {
    values: [T; CHUNK],
    next: Link<Chunk<T>>,
}

pub(super) struct Pool<T: 'static> {
    first: Chunk<T>,
    /// A value that was returned recently.
    free: Link<T>,
}

impl<T: Reusable> Pool<T> {
    pub(super) const fn new() -> Self {
        Pool {
            first: Chunk {
                values: [const { T::UNUSED }; CHUNK],
                next: Link::new(),
            },
            free: Link::new(),
        }
    }

    /// Returns an unused value, which belongs to the caller until it marks the value as unused
    /// again.
    pub(super) fn take(&'static self) -> &'static T {
        if let Some(value) = self.free.get().filter(|value| value.claim()) {
            return value;
        }
        let mut chunk = &self.first;
        loop {
            if let Some(value) = chunk.values.iter().find(|value| value.claim()) {
                return value;
            }
            chunk = chunk.next();
        }
    }

    /// Notes that a value was returned.
    pub(super) fn note_free(&self, value: &'static T) {
        self.free.set(value);
    }
}

impl<T: Sync> Chunk<T> {
    /// Returns the next block of values. Creates it if there is none.
    #[cold]
    fn next(&self) -> &'static Chunk<T> {
        if let Some(next) = self.next.get() {
            return next;
        }
        let Some(made) = leaked::zeroed::<Chunk<T>>(1) else {
            std::alloc::handle_alloc_error(std::alloc::Layout::new::<Chunk<T>>())
        };
        // SAFETY: zeros are a chunk of unused values.
        let made = unsafe { made.as_ref() };
        // Append it after a chunk that another thread may have added meanwhile.
        let mut last = self;
        while let Some(next) = last.next.set_first(made) {
            last = next;
        }
        made
    }
}
