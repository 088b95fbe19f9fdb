//! allocator-api2's `Allocator` for tracked arenas, so that collections of allocator-api2 and
//! hashbrown are counted too.

use super::{Arena, PieceResult, Tracked};
use std::alloc::Layout;
use std::ptr::NonNull;

/// Returns a piece in the form that allocators return.
#[inline(always)]
fn whole<E>(piece: PieceResult, layout: Layout, refused: E) -> Result<NonNull<[u8]>, E> {
    match piece {
        Ok(place) => Ok(NonNull::slice_from_raw_parts(place, layout.size())),
        Err(_) => Err(refused),
    }
}

macro_rules! allocator {
    ($version:ident) => {
        const _: () = {
            use $version::alloc::{AllocError, Allocator};
            type Whole = Result<NonNull<[u8]>, AllocError>;

            // SAFETY: `Arena` guarantees what `Allocator` requires: pieces stay valid and in place
            // while the arena lives and is not reset (a reset needs a mutable borrow), whether or
            // not the handle moves. Handles cannot be cloned.
            unsafe impl<A: Arena> Allocator for Tracked<A> {
                #[inline]
                fn allocate(&self, layout: Layout) -> Whole {
                    whole(self.try_alloc_layout(layout), layout, AllocError)
                }

                #[inline]
                unsafe fn deallocate(&self, place: NonNull<u8>, layout: Layout) {
                    // SAFETY: the caller gives the same guarantees.
                    unsafe { self.release(place, layout) }
                }

                #[inline]
                unsafe fn grow(&self, place: NonNull<u8>, old: Layout, new: Layout) -> Whole {
                    // SAFETY: the caller gives the same guarantees.
                    whole(unsafe { self.try_grow(place, old, new) }, new, AllocError)
                }

                #[inline]
                unsafe fn grow_zeroed(
                    &self,
                    place: NonNull<u8>,
                    old: Layout,
                    new: Layout,
                ) -> Whole {
                    // SAFETY: the caller gives the same guarantees. The new bytes lie after the old
                    // ones.
                    unsafe {
                        let grown = Allocator::grow(self, place, old, new)?;
                        let behind = grown.cast::<u8>().add(old.size());
                        behind.write_bytes(0, new.size() - old.size());
                        Ok(grown)
                    }
                }

                #[inline]
                unsafe fn shrink(&self, place: NonNull<u8>, old: Layout, new: Layout) -> Whole {
                    // SAFETY: the caller gives the same guarantees.
                    whole(unsafe { self.try_shrink(place, old, new) }, new, AllocError)
                }
            }
        };
    };
}

allocator!(allocator_api2_02);
allocator!(allocator_api2_04);
