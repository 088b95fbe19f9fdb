//! allocator-api2's `Allocator` for tracked arenas, so that its collections and hashbrown's are counted too.

use super::{AllocError, Arena, Tracked};
use std::alloc::Layout;
use std::ptr::NonNull;

/// A piece as allocators hand it out.
#[inline(always)]
fn whole(piece: Result<NonNull<u8>, AllocError>, layout: Layout) -> Option<NonNull<[u8]>> {
    let place = piece.ok()?;
    Some(NonNull::slice_from_raw_parts(place, layout.size()))
}

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
                whole(self.try_alloc_layout(layout), layout).ok_or($version::alloc::AllocError)
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
                let grown = unsafe { self.try_grow(place, old, new) };
                whole(grown, new).ok_or($version::alloc::AllocError)
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
                    let grown = $version::alloc::Allocator::grow(self, place, old, new)?;
                    let behind = grown.cast::<u8>().add(old.size());
                    behind.write_bytes(0, new.size() - old.size());
                    Ok(grown)
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
                let shrunk = unsafe { self.try_shrink(place, old, new) };
                whole(shrunk, new).ok_or($version::alloc::AllocError)
            }
        }
    };
}

allocator!(allocator_api2_02);
allocator!(allocator_api2_04);
