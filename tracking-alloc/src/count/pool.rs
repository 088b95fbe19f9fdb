//! Values in [leaked](crate::leaked) memory that are used again.

use crate::leaked::{self, Link};

/// What a pool holds. All-zero bytes must be a value that nobody uses.
pub(super) trait Reusable: Sized + Sync + 'static {
    /// A value that nobody uses.
    const UNUSED: Self;

    /// Takes the value. False when somebody uses it.
    fn claim(&self) -> bool;
}

pub(super) const CHUNK: usize = 64;

/// Values, and where there are more.
struct Chunk<T: 'static> {
    values: [T; CHUNK],
    next: Link<Chunk<T>>,
}

pub(super) struct Pool<T: 'static> {
    first: Chunk<T>,
    /// One given back lately.
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

    /// A value that nobody used, which is the caller's until it says that it is unused again.
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

    /// Says which value was given back.
    pub(super) fn note_free(&self, value: &'static T) {
        self.free.set(value);
    }
}

impl<T: Sync> Chunk<T> {
    /// The next one, made if there is none.
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
        // Behind the one that another thread made meanwhile.
        let mut last = self;
        while let Some(next) = last.next.set_first(made) {
            last = next;
        }
        made
    }
}
