//! allocator-api2's `Allocator` for tracked arenas, so that its collections and hashbrown's are counted too.

use super::{Arena, Tracked};
use std::alloc::Layout;
use std::ptr::NonNull;

macro_rules! allocator {
    ($version:ident) => {
        // SAFETY: `Arena` promises what `Allocator` asks: pieces stay valid and where they are while the arena lives
        // and is not reset (which needs it mutably), whether or not the handle moves. Handles cannot be cloned.
        unsafe impl<A: Arena> $version::alloc::Allocator for Tracked<A> {
            #[inline]
            fn allocate(
                &self,
                layout: Layout,
            ) -> Result<NonNull<[u8]>, $version::alloc::AllocError> {
                let place = self
                    .try_alloc_layout(layout)
                    .map_err(|_| $version::alloc::AllocError)?;
                Ok(NonNull::slice_from_raw_parts(place, layout.size()))
            }

            #[inline]
            unsafe fn deallocate(&self, place: NonNull<u8>, layout: Layout) {
                // SAFETY: the caller's promises are the same.
                unsafe { self.release(place, layout) }
            }

            #[inline]
            unsafe fn grow(
                &self,
                place: NonNull<u8>,
                old: Layout,
                new: Layout,
            ) -> Result<NonNull<[u8]>, $version::alloc::AllocError> {
                // SAFETY: the caller's promises are the same.
                let place = unsafe { self.try_grow(place, old, new) }
                    .map_err(|_| $version::alloc::AllocError)?;
                Ok(NonNull::slice_from_raw_parts(place, new.size()))
            }

            #[inline]
            unsafe fn grow_zeroed(
                &self,
                place: NonNull<u8>,
                old: Layout,
                new: Layout,
            ) -> Result<NonNull<[u8]>, $version::alloc::AllocError> {
                // SAFETY: the caller's promises are the same; the new bytes lie behind the old ones.
                unsafe {
                    let place = self
                        .try_grow(place, old, new)
                        .map_err(|_| $version::alloc::AllocError)?;
                    place
                        .add(old.size())
                        .write_bytes(0, new.size() - old.size());
                    Ok(NonNull::slice_from_raw_parts(place, new.size()))
                }
            }

            #[inline]
            unsafe fn shrink(
                &self,
                place: NonNull<u8>,
                old: Layout,
                new: Layout,
            ) -> Result<NonNull<[u8]>, $version::alloc::AllocError> {
                // SAFETY: the caller's promises are the same.
                let place = unsafe { self.try_shrink(place, old, new) }
                    .map_err(|_| $version::alloc::AllocError)?;
                Ok(NonNull::slice_from_raw_parts(place, new.size()))
            }
        }
    };
}

allocator!(allocator_api2_02);
allocator!(allocator_api2_04);
