//! 2.13: std's own `Vec<_, A>`, as the talk has it: with the feature `nightly`, by a nightly compiler. The stable stand-in
//! beside it, whose calls must be the same.

use super::verbose::{VerboseAllocator, script, std_script};
use crate::{Case, Judged, Variant};
use allocator_api2_04::alloc::Global;

/// The case.
pub(super) const CASE: Case = Case {
    id: "2.13",
    system: "std's Vec<_, A> of nightly's allocator_api (feature nightly), beside allocator-api2's on stable",
    headline: "the talk's script by std's own unstable API: the same calls",
    variants: &[
        Variant::new("allocator-api2, VerboseAllocator", |window| {
            let allocator = VerboseAllocator::over(Global);
            window.work(|| script(&allocator));
            allocator.note(window);
        }),
        #[cfg(feature = "nightly")]
        Variant::new("std, VerboseAllocator", |window| {
            let allocator = VerboseAllocator::over(Global);
            window.work(|| in_std::script(&allocator));
            allocator.note(window);
        }),
        #[cfg(feature = "nightly")]
        Variant::new("std, ArenaAllocator", |window| {
            window.work(|| {
                let arena = super::verbose::ArenaAllocator::new();
                in_std::script(&arena).len()
            });
        }),
        Variant::new("std Vec, global", |window| window.work(std_script)),
    ],
    judge: |found| {
        let (stable, std) = ("allocator-api2, VerboseAllocator", "std, VerboseAllocator");
        let told = [
            "told_allocs",
            "told_grows",
            "told_moves",
            "told_shrinks",
            "told_frees",
            "told_bytes",
        ];
        let counted = [
            "total_blocks",
            "total_bytes",
            "grows",
            "shrinks",
            "peak_bytes",
        ];
        let same = |first: &str, second: &str, names: &[&str]| {
            names
                .iter()
                .all(|name| found.of(first, name) == found.of(second, name))
        };
        let calls = |variant: &str| {
            told.map(|name| found.of(variant, name).to_string())
                .join(", ")
        };
        let as_global = same(stable, "std Vec, global", &counted);
        if found.of(std, "total_blocks").is_nan() {
            let why = format!(
                "std's Vec<_, A> needs a nightly compiler and --features nightly, so it has no row here; allocator-api2's on \
                 stable: {} (allocations, grows, moves, shrinks, frees, bytes), the blocks of std's Vec in the global \
                 allocator",
                calls(stable),
            );
            return Judged::unjudged(as_global, why);
        }
        let holds = as_global
            && same(stable, std, &counted)
            && same(stable, std, &told)
            && found.of("std, ArenaAllocator", "total_blocks") == 0.0;
        let why = format!(
            "allocations, grows, moves, shrinks, frees, bytes: {} by std's, {} by allocator-api2's; the same blocks as in \
             the global allocator, and none in the arena, whose pool is a static",
            calls(std),
            calls(stable),
        );
        Judged::facts(holds, why)
    },
};

#[cfg(feature = "nightly")]
mod in_std {
    //! The script through std's own API, by an adapter: what implements the stand-in's trait serves std's.

    use allocator_api2_04::alloc::Allocator;
    use std::alloc::{AllocError, Layout};
    use std::hint::black_box;
    use std::ptr::NonNull;

    /// An allocator of the stand-in's, as std asks for it.
    #[derive(Clone, Copy)]
    struct AsStd<A>(A);

    // SAFETY: every call is passed on to an allocator that promises the same.
    unsafe impl<A: Allocator> std::alloc::Allocator for AsStd<A> {
        fn allocate(&self, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
            self.0.allocate(layout).map_err(|_| AllocError)
        }

        unsafe fn deallocate(&self, block: NonNull<u8>, layout: Layout) {
            // SAFETY: the caller's promise is passed on.
            unsafe { self.0.deallocate(block, layout) };
        }

        unsafe fn grow(
            &self,
            block: NonNull<u8>,
            old: Layout,
            new: Layout,
        ) -> Result<NonNull<[u8]>, AllocError> {
            // SAFETY: the caller's promise is passed on.
            unsafe { self.0.grow(block, old, new) }.map_err(|_| AllocError)
        }

        unsafe fn shrink(
            &self,
            block: NonNull<u8>,
            old: Layout,
            new: Layout,
        ) -> Result<NonNull<[u8]>, AllocError> {
            // SAFETY: the caller's promise is passed on.
            unsafe { self.0.shrink(block, old, new) }.map_err(|_| AllocError)
        }
    }

    /// The talk's script; the second vector is kept.
    pub(super) fn script<A: Allocator + Copy>(allocator: A) -> Vec<u8, impl std::alloc::Allocator> {
        let allocator = AsStd(allocator);
        let mut first = Vec::new_in(allocator);
        first.push(1_u8);
        first.push(2);
        // Else the compiler sees that nobody needs it.
        drop(black_box(first));
        let mut second = Vec::with_capacity_in(100, allocator);
        second.push(1);
        second.extend([0; 100]);
        second.shrink_to_fit();
        second
    }
}
