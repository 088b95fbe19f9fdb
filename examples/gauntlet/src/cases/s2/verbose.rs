//! 2.3: the talk's script on the Allocator API: a bump `ArenaAllocator`, and a `VerboseAllocator`
//! that reports each call.

use crate::{Case, Judged, Variant, Window};
use allocator_api2_04::alloc::{AllocError, Allocator, Global, Layout};
use allocator_api2_04::vec::Vec as VecIn;
use std::cell::{Cell, UnsafeCell};
use std::hint::black_box;
use std::ptr::NonNull;

/// The case.
pub(super) const CASE: Case = Case {
    id: "2.3",
    system: "bump ArenaAllocator over a static pool, on the Allocator API + VerboseAllocator",
    headline: "push 1, push 2, drop; with_capacity(100), push 1, extend 100, shrink_to_fit: alloc, grow, move, shrink",
    variants: &[
        Variant::new("Global", |window| window.work(|| script(Global))),
        Variant::new("std Vec", |window| window.work(std_script)),
        Variant::new("VerboseAllocator", verbose),
        Variant::new("ArenaAllocator", arena),
        Variant::new("VerboseAllocator over ArenaAllocator", verbose_arena),
    ],
    judge: |found| {
        let told = |name: &str| found.of("VerboseAllocator", name);
        let ours = |name: &str| found.of("Global", name);
        let fresh = ours("total_blocks") - ours("grows") - ours("shrinks");
        let holds = told("told_allocs") == fresh
            && told("told_grows") == ours("grows")
            && told("told_shrinks") == ours("shrinks")
            && told("told_bytes") == ours("total_bytes")
            && told("told_frees") == fresh
            && found.of("ArenaAllocator", "total_blocks") == 0.0;
        let why = format!(
            "the VerboseAllocator tells {:.0} allocations, {:.0} grow, {:.0} shrink, {:.0} B in all, and {:.0} frees; the \
             recording counts {:.0}, {:.0}, {:.0} and {:.0} B. In the arena {:.0} new sizes move ({:.0} B of dead copies among \
             {:.0} B used), and the recorder sees no block: the pool is a static",
            told("told_allocs"),
            told("told_grows"),
            told("told_shrinks"),
            told("told_bytes"),
            told("told_frees"),
            fresh,
            ours("grows"),
            ours("shrinks"),
            ours("total_bytes"),
            found.of("VerboseAllocator over ArenaAllocator", "told_moves"),
            found.of("ArenaAllocator", "dead_bytes"),
            found.of("ArenaAllocator", "used_bytes"),
        );
        Judged::facts(holds, why)
    },
};

/// Runs the talk's script; the second vector is kept.
pub(super) fn script<A: Allocator + Copy>(allocator: A) -> VecIn<u8, A> {
    let mut first = VecIn::<u8, A>::new_in(allocator);
    first.push(1);
    first.push(2);
    // Otherwise the compiler sees that the value is not used.
    drop(black_box(first));
    let mut second = VecIn::with_capacity_in(100, allocator);
    second.push(1);
    second.extend([0; 100]);
    second.shrink_to_fit();
    second
}

#[expect(clippy::vec_init_then_push, reason = "the talk's script pushes")]
pub(super) fn std_script() -> Vec<u8> {
    let mut first = Vec::<u8>::new();
    first.push(1);
    first.push(2);
    drop(black_box(first));
    let mut second = Vec::with_capacity(100);
    second.push(1);
    second.extend([0; 100]);
    second.shrink_to_fit();
    second
}

/// Counts its calls and passes them on to another allocator.
pub(super) struct VerboseAllocator<A> {
    inner: A,
    allocs: Cell<u32>,
    grows: Cell<u32>,
    moves: Cell<u32>,
    shrinks: Cell<u32>,
    frees: Cell<u32>,
    bytes: Cell<usize>,
}

impl<A> VerboseAllocator<A> {
    pub(super) fn over(inner: A) -> Self {
        VerboseAllocator {
            inner,
            allocs: Cell::new(0),
            grows: Cell::new(0),
            moves: Cell::new(0),
            shrinks: Cell::new(0),
            frees: Cell::new(0),
            bytes: Cell::new(0),
        }
    }

    fn tell(&self, told: &Cell<u32>, bytes: usize) {
        told.set(told.get() + 1);
        self.bytes.set(self.bytes.get() + bytes);
    }

    fn tell_move(&self, from: NonNull<u8>, to: &Result<NonNull<[u8]>, AllocError>) {
        if to.is_ok_and(|to| to.cast::<u8>() != from) {
            self.moves.set(self.moves.get() + 1);
        }
    }

    pub(super) fn note(&self, window: &mut Window) {
        let told = [
            ("told_allocs", &self.allocs),
            ("told_grows", &self.grows),
            ("told_moves", &self.moves),
            ("told_shrinks", &self.shrinks),
            ("told_frees", &self.frees),
        ];
        for (name, count) in told {
            window.note(name, f64::from(count.get()));
        }
        window.note("told_bytes", self.bytes.get() as f64);
    }
}

// SAFETY: blocks are the inner allocator's, and every call is passed on to it.
unsafe impl<A: Allocator> Allocator for &VerboseAllocator<A> {
    fn allocate(&self, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
        self.tell(&self.allocs, layout.size());
        self.inner.allocate(layout)
    }

    unsafe fn deallocate(&self, block: NonNull<u8>, layout: Layout) {
        self.tell(&self.frees, 0);
        // SAFETY: the caller's promise is passed on.
        unsafe { self.inner.deallocate(block, layout) };
    }

    unsafe fn grow(
        &self,
        block: NonNull<u8>,
        old: Layout,
        new: Layout,
    ) -> Result<NonNull<[u8]>, AllocError> {
        self.tell(&self.grows, new.size());
        // SAFETY: the caller's promise is passed on.
        let grown = unsafe { self.inner.grow(block, old, new) };
        self.tell_move(block, &grown);
        grown
    }

    unsafe fn shrink(
        &self,
        block: NonNull<u8>,
        old: Layout,
        new: Layout,
    ) -> Result<NonNull<[u8]>, AllocError> {
        self.tell(&self.shrinks, new.size());
        // SAFETY: the caller's promise is passed on.
        let shrunk = unsafe { self.inner.shrink(block, old, new) };
        self.tell_move(block, &shrunk);
        shrunk
    }
}

/// The talk's pool, which is outside of every heap.
struct Pool(UnsafeCell<[u8; 1024]>);

// SAFETY: each process runs one variant. Its window has only one arena at a time over the pool, on
// one thread.
unsafe impl Sync for Pool {}

static POOL: Pool = Pool(UnsafeCell::new([0; 1024]));

/// Hands out pieces of the pool one after another, and never takes any back.
pub(super) struct ArenaAllocator {
    block: NonNull<[u8]>,
    used: Cell<usize>,
    dead: Cell<usize>,
}

impl ArenaAllocator {
    pub(super) fn new() -> Self {
        let block = std::ptr::slice_from_raw_parts_mut(POOL.0.get().cast(), 1024);
        ArenaAllocator {
            block: NonNull::new(block).expect("a static has a place"),
            used: Cell::new(0),
            dead: Cell::new(0),
        }
    }
}

// SAFETY: pieces do not overlap, lie inside the pool, which is never freed, and have the requested
// alignment.
unsafe impl Allocator for &ArenaAllocator {
    fn allocate(&self, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
        let start = self.block.cast::<u8>().addr().get();
        let at = (start + self.used.get()).next_multiple_of(layout.align()) - start;
        let end = at
            .checked_add(layout.size())
            .filter(|end| *end <= self.block.len())
            .ok_or(AllocError)?;
        self.used.set(end);
        // SAFETY: `at` is not past the end of the pool.
        let piece = unsafe { self.block.cast::<u8>().add(at) };
        Ok(NonNull::slice_from_raw_parts(piece, layout.size()))
    }

    unsafe fn deallocate(&self, _piece: NonNull<u8>, layout: Layout) {
        self.dead.set(self.dead.get() + layout.size());
    }
}

fn verbose(window: &mut Window) {
    let allocator = VerboseAllocator::over(Global);
    window.work(|| script(&allocator));
    allocator.note(window);
}

fn arena(window: &mut Window) {
    let (mut used, mut dead) = (0, 0);
    window.work(|| {
        let arena = ArenaAllocator::new();
        let kept = script(&arena);
        (used, dead) = (arena.used.get(), arena.dead.get());
        drop(kept);
        arena
    });
    window.note("used_bytes", used as f64);
    window.note("dead_bytes", dead as f64);
}

fn verbose_arena(window: &mut Window) {
    let mut moves = 0;
    window.work(|| {
        let arena = ArenaAllocator::new();
        let allocator = VerboseAllocator::over(&arena);
        drop(script(&allocator));
        moves = allocator.moves.get();
        arena
    });
    window.note("told_moves", f64::from(moves));
}
