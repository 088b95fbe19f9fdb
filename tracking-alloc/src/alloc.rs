//! The wrapper: it reads the state word before each of four methods, and forwards them.

use crate::Chosen;
use heapglass_recorder::{
    InnerAllocator, Source, allocated_by, freed, passes_allocation, passes_free,
    passes_reallocation, reallocated, reallocating,
};
use std::alloc::{GlobalAlloc, Layout, System};

/// A global allocator that forwards to another one and can record every event.
///
/// It adds no header and changes no layout, so the measured program allocates as it would without
/// the wrapper. While nothing records, each call costs one additional load.
///
/// ```
/// use tracking_alloc::TrackingAlloc;
///
/// #[global_allocator]
/// static ALLOC: TrackingAlloc = TrackingAlloc::system();
///
/// let (text, delta) = tracking_alloc::measure(|| "seen".to_owned());
/// assert_eq!((delta.total_blocks, delta.total_bytes), (1, text.len() as u64));
/// ```
#[derive(Debug, Default)]
pub struct TrackingAlloc<A = System> {
    inner: A,
}

impl TrackingAlloc<System> {
    /// Wraps the system's allocator.
    pub const fn system() -> Self {
        TrackingAlloc::new(System)
    }
}

impl TrackingAlloc<Chosen> {
    /// Wraps the allocator that `HEAPGLASS_ALLOCATOR` chooses.
    pub const fn chosen() -> Self {
        TrackingAlloc::new(Chosen::new())
    }
}

/// Returns `true` if two types have one name. Allocators need not be `'static`, so they have no
/// type id.
fn is<A, B>() -> bool {
    std::any::type_name::<A>() == std::any::type_name::<B>()
}

impl<A> TrackingAlloc<A> {
    /// Wraps any allocator: `TrackingAlloc::new(mimalloc::MiMalloc)`.
    pub const fn new(inner: A) -> Self {
        TrackingAlloc { inner }
    }
}

impl<A> Source for TrackingAlloc<A> {
    fn inner() -> InnerAllocator {
        crate::preloaded::leave_note();
        // The recorder knows more about the system's allocator than about others.
        if is::<A, System>() || is::<A, Chosen>() && Chosen::is_system() {
            InnerAllocator::System
        } else {
            InnerAllocator::Other
        }
    }

    fn inner_name() -> &'static str {
        if is::<A, Chosen>() {
            return Chosen::name();
        }
        std::any::type_name::<A>()
    }

    fn may_record() -> Option<bool> {
        Some(!crate::preloaded::records())
    }
}

// PERF: an event that needs no report ends in the call of the allocator, and keeps nothing across
// it. The rest is inlined too: a function of its own would cost an event of churn 18 instructions
// and its stack a frame (callgrind), and would not know the alignment.
//
// SAFETY: every call is forwarded with unchanged arguments, and its result is returned unchanged;
// recording neither unwinds nor allocates through this allocator.
unsafe impl<A: GlobalAlloc> GlobalAlloc for TrackingAlloc<A> {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise is passed on.
        unsafe {
            if passes_allocation(layout.size()) {
                return self.inner.alloc(layout);
            }
            let block = self.inner.alloc(layout);
            allocated_by::<Self>(block, layout.size());
            block
        }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise is passed on.
        unsafe {
            if passes_allocation(layout.size()) {
                return self.inner.alloc_zeroed(layout);
            }
            let block = self.inner.alloc_zeroed(layout);
            allocated_by::<Self>(block, layout.size());
            block
        }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe {
            if !passes_free(block, Some(layout.size())) {
                freed(block, Some(layout.size()));
            }
            self.inner.dealloc(block, layout);
        }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: the caller's promise is passed on.
        unsafe {
            if passes_reallocation(block, Some(layout.size()), new_size) {
                return self.inner.realloc(block, layout, new_size);
            }
            let old = reallocating(block, Some(layout.size()));
            let new = self.inner.realloc(block, layout, new_size);
            reallocated(old, new, new_size);
            new
        }
    }
}
