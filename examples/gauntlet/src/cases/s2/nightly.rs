//! 2.13: std's own `Vec<_, A>`, as in the talk. It runs in a separate program, built by a compiler
//! with the unstable API (`programs/std_vec.rs`), and with the feature `nightly` also in this one.
//! The stable stand-in next to it must make the same calls.

use super::verbose::{VerboseAllocator, script, std_script};
use crate::program::{Folder, ran, source, unstable_rustc};
use crate::{Case, Judged, Variant, Window};
use allocator_api2_04::alloc::Global;

/// The case.
pub(super) const CASE: Case = Case {
    id: "2.13",
    system: "std's Vec<_, A> of nightly's allocator_api, beside allocator-api2's on stable",
    headline: "std's unstable Allocator API lets Vec take any allocator; the talk's script is written with it (no figures)",
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
        Variant::new(PROGRAM, program)
            .varying("without a compiler with the unstable API there is nothing to run"),
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
        // The neighbours of a block decide if it can grow in place, so the number of moves differs
        // between processes.
        let program = told
            .iter()
            .all(|name| *name == "told_moves" || found.of(PROGRAM, name) == found.of(stable, name));
        if found.of(std, "total_blocks").is_nan() {
            let says = match found.of(PROGRAM, "told_bytes").is_nan() {
                true => "std's was not built: it needs a compiler that takes RUSTC_BOOTSTRAP=1, or rustup's nightly".to_owned(),
                false => format!("{} by std's, in a program of its own", calls(PROGRAM)),
            };
            let why = format!(
                "allocations, grows, moves, shrinks, frees, bytes: {} by allocator-api2's on stable, {says}; the blocks of std's \
                 Vec in the global allocator",
                calls(stable),
            );
            return match found.of(PROGRAM, "told_bytes").is_nan() {
                true => Judged::unjudged(as_global, "std's own Vec was not built", why),
                false => Judged::facts(as_global && program, why),
            };
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

const PROGRAM: &str = "std, VerboseAllocator, in a program of its own";

/// Builds and runs the program, and notes the calls that its allocator got. Notes nothing if no
/// compiler accepts it.
fn program(window: &mut Window) {
    let told = [
        "told_allocs",
        "told_grows",
        "told_moves",
        "told_shrinks",
        "told_frees",
        "told_bytes",
    ];
    if window.is_counting() {
        let folder = Folder::new();
        let path = folder.file("std_vec");
        let mut compile = unstable_rustc();
        compile.args(["--edition", "2024", "-O", "-o"]);
        compile.args([&path, &source("std_vec.rs")]);
        let built = ran(&mut compile);
        let printed = built.and_then(|_| ran(&mut std::process::Command::new(&path)));
        let printed = printed.unwrap_or_default();
        let counts = printed
            .split_whitespace()
            .filter_map(|count| count.parse().ok());
        for (name, count) in told.into_iter().zip(counts) {
            window.note(name, count);
        }
    }
    window.work(|| ());
}

#[cfg(feature = "nightly")]
mod in_std {
    //! Runs the script through std's own API, with an adapter from the stand-in's trait to std's.

    use allocator_api2_04::alloc::Allocator;
    use std::alloc::{AllocError, Layout};
    use std::hint::black_box;
    use std::ptr::NonNull;

    /// An allocator of the stand-in's trait, adapted to std's.
    #[derive(Clone, Copy)]
    struct AsStd<A>(A);

    // SAFETY: every call is passed on to an allocator that makes the same promises.
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

    /// Runs the talk's script; the second vector is kept.
    pub(super) fn script<A: Allocator + Copy>(allocator: A) -> Vec<u8, impl std::alloc::Allocator> {
        let allocator = AsStd(allocator);
        let mut first = Vec::new_in(allocator);
        first.push(1_u8);
        first.push(2);
        // Otherwise the compiler sees that the value is not used.
        drop(black_box(first));
        let mut second = Vec::with_capacity_in(100, allocator);
        second.push(1);
        second.extend([0; 100]);
        second.shrink_to_fit();
        second
    }
}
