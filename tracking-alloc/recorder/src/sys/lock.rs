//! A lock for cold paths: a short spin, then a futex. It has no poisoning, no allocation and no
//! thread-local.

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU32, Ordering};

const FREE: u32 = 0;
const HELD: u32 = 1;
const WAITED_FOR: u32 = 2;

/// Mutual exclusion for a `T`. While holding one heapglass lock, a thread may wait for another only
/// in this order: the peak lock before the write lock.
pub(crate) struct Lock<T> {
    word: AtomicU32,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached only through a `Guard`, and only one exists at a time.
unsafe impl<T: Send> Sync for Lock<T> {}

pub(crate) struct Guard<'a, T>(&'a Lock<T>);

impl<T> Lock<T> {
    pub(crate) const fn new(value: T) -> Self {
        Lock {
            word: AtomicU32::new(FREE),
            value: UnsafeCell::new(value),
        }
    }

    /// Frees the lock, whoever held it, and gives it a new value.
    ///
    /// # Safety
    /// No other thread may exist that could hold the lock or wait for it. This is so at the start
    /// of a forked child.
    pub(crate) unsafe fn reset(&self, value: T) {
        // SAFETY: nobody else reaches the value (guaranteed by the caller). The old value is not
        // dropped, because its owner no longer exists.
        unsafe { self.value.get().write(value) };
        self.word.store(FREE, Ordering::Release);
    }

    /// Returns the place of the value. It may be read or written only if no other thread can reach
    /// the lock yet.
    pub(crate) fn get_mut_unpublished(&self) -> *mut T {
        self.value.get()
    }

    #[inline]
    pub(crate) fn lock(&self) -> Guard<'_, T> {
        if !self.try_take() {
            self.wait();
        }
        Guard(self)
    }

    /// Takes the lock if it is free.
    #[inline]
    fn try_take(&self) -> bool {
        let word = &self.word;
        word.compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    /// Takes the lock if it becomes free within about `tries` short waits.
    pub(crate) fn try_lock(&self, tries: u32) -> Option<Guard<'_, T>> {
        for _ in 0..tries {
            if self.try_take() {
                return Some(Guard(self));
            }
            super::yield_now();
        }
        None
    }

    #[cold]
    #[inline(never)]
    fn wait(&self) {
        for _ in 0..100 {
            if self.word.load(Ordering::Relaxed) == FREE && self.try_take() {
                return;
            }
            std::hint::spin_loop();
        }
        let _errno = super::Errno::keep();
        while self.word.swap(WAITED_FOR, Ordering::Acquire) != FREE {
            // SAFETY: the futex word lives as long as `self`. The loop handles spurious returns.
            unsafe {
                libc::syscall(
                    libc::SYS_futex,
                    self.word.as_ptr(),
                    libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
                    WAITED_FOR,
                    std::ptr::null::<libc::timespec>(),
                )
            };
        }
    }
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: while the guard lives, it is the only access to the value.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and the guard is borrowed mutably.
        unsafe { &mut *self.0.value.get() }
    }
}

impl<T> Drop for Guard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        if self.0.word.swap(FREE, Ordering::Release) == WAITED_FOR {
            let _errno = super::Errno::keep();
            // SAFETY: waking needs only the address of the word.
            unsafe {
                libc::syscall(
                    libc::SYS_futex,
                    self.0.word.as_ptr(),
                    libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG,
                    1,
                )
            };
        }
    }
}
