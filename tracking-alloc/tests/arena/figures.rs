//! A random sequence of allocations, grows, shrinks, releases, resets and drops, with allocations
//! that bypass the handle. At every step our figures equal the crate's own, add up, and match a
//! model.

use std::alloc::Layout;
use std::ops::Range;
use std::ptr::NonNull;
use tracking_alloc::arena::{Arena, ArenaStats, Reset, Tracked};

/// splitmix64
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, range: Range<usize>) -> usize {
        range.start + (self.next() % (range.end - range.start) as u64) as usize
    }

    fn layout(&mut self) -> Layout {
        let most = [16, 64, 300, 5000][self.below(0..4)];
        Layout::from_size_align(self.below(0..most), 1 << self.below(0..6)).unwrap()
    }
}

/// The figures that a crate reports for its own arena: chunks, bytes, bytes with metadata, used
/// bytes, and free bytes in the current chunk.
#[derive(Debug, PartialEq)]
struct Own {
    chunks: u64,
    bytes: u64,
    with_metadata: u64,
    used: u64,
    free: u64,
}

trait Subject: Reset {
    fn fresh() -> Self;
    fn own(&self) -> Own;
    /// Allocates without the handle.
    fn past(&self, layout: Layout);
}

impl<const ALIGN: usize> Subject for bumpalo::Bump<ALIGN> {
    fn fresh() -> Self {
        Self::with_min_align()
    }

    fn own(&self) -> Own {
        let (bytes, with_metadata) = (
            self.allocated_bytes(),
            self.allocated_bytes_including_metadata(),
        );
        let free = self.chunk_capacity() as u64;
        // SAFETY: nothing is allocated meanwhile, and no contents are read.
        let used: Vec<usize> = unsafe { self.iter_allocated_chunks_raw() }
            .map(|(_, bytes)| bytes)
            .collect();
        Own {
            chunks: used.len() as u64,
            bytes: bytes as u64,
            with_metadata: with_metadata as u64,
            used: used.iter().sum::<usize>() as u64,
            free,
        }
    }

    fn past(&self, layout: Layout) {
        self.alloc_layout(layout);
    }
}

impl<S: bump_scope::settings::BumpAllocatorSettings + 'static> Subject
    for bump_scope::Bump<bump_scope::alloc::Global, S>
where
    bump_scope::alloc::Global: bump_scope::BaseAllocator<S::GuaranteedAllocated>,
{
    fn fresh() -> Self {
        Self::new_in(bump_scope::alloc::Global)
    }

    fn own(&self) -> Own {
        let stats = self.stats();
        let present = stats.current_chunk();
        let before = present.into_iter().flat_map(|chunk| chunk.iter_prev());
        Own {
            chunks: stats.count() as u64,
            bytes: stats.capacity() as u64,
            with_metadata: stats.size() as u64,
            used: (before.map(|chunk| chunk.allocated()).sum::<usize>()
                + present.map_or(0, |chunk| chunk.allocated())) as u64,
            free: present.map_or(0, |chunk| chunk.remaining()) as u64,
        }
    }

    fn past(&self, layout: Layout) {
        use bump_scope::alloc::Allocator;
        self.allocate(layout).unwrap();
    }
}

/// A piece in use, filled with a pattern of its own.
struct Piece {
    place: NonNull<u8>,
    layout: Layout,
    pattern: u8,
}

impl Piece {
    fn fill(&self, from: usize) {
        // SAFETY: the piece has that many bytes, and nobody else has it.
        unsafe {
            self.place
                .add(from)
                .write_bytes(self.pattern, self.layout.size() - from);
        }
    }

    fn check(&self, bytes: usize) {
        assert!(self.place.addr().get().is_multiple_of(self.layout.align()));
        // SAFETY: that many bytes of the piece were filled.
        let bytes = unsafe {
            NonNull::slice_from_raw_parts(self.place, bytes.min(self.layout.size())).as_ref()
        };
        assert!(bytes.iter().all(|byte| *byte == self.pattern));
    }
}

/// The expected figures.
#[derive(Debug, Default, PartialEq)]
struct Model {
    used_bytes: u64,
    used_blocks: u64,
    bypassed_bytes: u64,
    total_used_bytes: u64,
    total_used_blocks: u64,
    grows: u64,
    resets: u64,
    copied_bytes: u64,
    abandoned_bytes: u64,
}

fn agree(stats: &ArenaStats, own: &Own, model: &Model, most: &mut (u64, u64)) {
    let said = Own {
        chunks: stats.chunks,
        bytes: stats.allocated_bytes,
        with_metadata: stats.allocated_bytes_including_metadata,
        used: stats.occupied_bytes(),
        free: stats.chunk_capacity,
    };
    assert_eq!(said, *own);
    assert_eq!(
        stats.allocated_bytes,
        stats.used_bytes
            + stats.padding_bytes
            + stats.abandoned_bytes
            + stats.bypassed_bytes
            + stats.unused_tail_bytes
    );
    let counted = Model {
        used_bytes: stats.used_bytes,
        used_blocks: stats.used_blocks,
        bypassed_bytes: stats.bypassed_bytes,
        total_used_bytes: stats.total_used_bytes,
        total_used_blocks: stats.total_used_blocks,
        grows: stats.grows,
        resets: stats.resets,
        copied_bytes: stats.copied_bytes,
        abandoned_bytes: stats.abandoned_bytes,
    };
    assert_eq!(counted, *model);
    *most = (
        most.0.max(stats.allocated_bytes),
        most.1.max(stats.occupied_bytes()),
    );
    assert_eq!(
        (stats.most_allocated_bytes, stats.most_occupied_bytes),
        *most
    );
    assert!(stats.grows_in_place <= stats.grows);
}

fn run<S: Subject>(seed: u64, steps: usize) {
    let mut random = Random(seed);
    let arena = S::fresh();
    for _ in 0..random.below(0..3) {
        arena.past(random.layout());
    }
    go_on(random, arena, steps);
}

/// Short runs in an empty arena, in which there is no padding yet that could hide a byte counted
/// twice.
fn run_short<S: Subject>() {
    for seed in 0..RUNS * 50 {
        go_on(Random(seed), S::fresh(), 8);
    }
}

fn go_on<S: Subject>(mut random: Random, arena: S, steps: usize) {
    let used_before = arena.own().used;
    let mut tracked = Tracked::new("under test", arena);
    let mut model = Model {
        bypassed_bytes: used_before,
        ..Model::default()
    };
    let mut pieces: Vec<Piece> = Vec::new();
    let mut most = (0, used_before);
    for step in 0..steps {
        let what = random.below(0..100);
        match what {
            0..45 => {
                let layout = random.layout();
                let piece = Piece {
                    place: tracked.try_alloc_layout(layout).unwrap(),
                    layout,
                    pattern: random.next() as u8,
                };
                piece.fill(0);
                pieces.push(piece);
                model.used_bytes += layout.size() as u64;
                model.used_blocks += 1;
                model.total_used_bytes += layout.size() as u64;
                model.total_used_blocks += 1;
            }
            45..65 if !pieces.is_empty() => {
                // Often the last piece, which can grow in place.
                let at = pieces.len() - 1 - random.below(0..pieces.len().min(3));
                let piece = &mut pieces[at];
                let old = piece.layout;
                let new = Layout::from_size_align(old.size() + random.below(0..400), old.align())
                    .unwrap();
                let before = tracked.arena().own().used;
                // SAFETY: the piece is in use with that layout, and the new one is larger.
                piece.place = unsafe { tracked.try_grow(piece.place, old, new) }.unwrap();
                piece.layout = new;
                piece.check(old.size());
                piece.fill(old.size());
                model.grows += 1;
                model.used_bytes += (new.size() - old.size()) as u64;
                model.total_used_bytes += new.size() as u64;
                model.total_used_blocks += 1;
                // The old place is abandoned if the whole new size was allocated.
                if tracked.arena().own().used - before >= new.size() as u64 {
                    model.copied_bytes += old.size() as u64;
                    model.abandoned_bytes += old.size() as u64;
                }
            }
            65..75 if !pieces.is_empty() => {
                let at = pieces.len() - 1 - random.below(0..pieces.len().min(3));
                let piece = &mut pieces[at];
                let old = piece.layout;
                let new =
                    Layout::from_size_align(random.below(0..old.size() + 1), old.align()).unwrap();
                let before = tracked.arena().own().used;
                // SAFETY: the piece is in use with that layout, and the new one is smaller.
                piece.place = unsafe { tracked.try_shrink(piece.place, old, new) }.unwrap();
                piece.layout = new;
                piece.check(new.size());
                model.used_bytes -= (old.size() - new.size()) as u64;
                // The bytes that the piece still takes for the minimum alignment are padding.
                if tracked.arena().own().used == before {
                    let taken = |layout: Layout| match layout.size() {
                        // Nothing of the piece is left. Its padding was not allocated, so it is not
                        // abandoned.
                        0 => (0, 0),
                        bytes => (bytes, bytes.next_multiple_of(tracked.min_align())),
                    };
                    let (old, new) = (taken(old), taken(new));
                    model.abandoned_bytes += match new.0 {
                        0 => old.0,
                        _ => old.1 - new.1,
                    } as u64;
                }
            }
            75..85 if !pieces.is_empty() => {
                let at = pieces.len() - 1 - random.below(0..pieces.len().min(3));
                let piece = pieces.swap_remove(at);
                piece.check(usize::MAX);
                let before = tracked.arena().own().used;
                // SAFETY: the piece is in use with that layout, and it is not used afterwards.
                unsafe { tracked.release(piece.place, piece.layout) };
                model.used_bytes -= piece.layout.size() as u64;
                model.used_blocks -= 1;
                if tracked.arena().own().used == before {
                    model.abandoned_bytes += piece.layout.size() as u64;
                }
            }
            85..95 => {
                let before = tracked.arena().own().used;
                for _ in 0..random.below(1..4) {
                    tracked.arena().past(random.layout());
                }
                model.bypassed_bytes += tracked.arena().own().used - before;
            }
            95 if step % 3 == 0 => {
                pieces.iter().for_each(|piece| piece.check(usize::MAX));
                pieces.clear();
                tracked.reset();
                model = Model {
                    used_bytes: 0,
                    used_blocks: 0,
                    bypassed_bytes: 0,
                    abandoned_bytes: 0,
                    resets: model.resets + 1,
                    ..model
                };
            }
            _ => continue,
        }
        let stats = tracked.stats();
        agree(&stats, &tracked.arena().own(), &model, &mut most);
    }
    pieces.iter().for_each(|piece| piece.check(usize::MAX));
    drop(tracked);
}

/// Fewer runs under Miri and similar tools.
const RUNS: u64 = if cfg!(miri) { 2 } else { 60 };
const STEPS: usize = if cfg!(miri) { 60 } else { 400 };

#[test]
fn figures_are_bumpalos_own_at_every_step() {
    (0..RUNS).for_each(|seed| run::<bumpalo::Bump>(seed, STEPS));
}

#[test]
fn figures_are_bumpalos_own_with_a_minimum_alignment() {
    (0..RUNS).for_each(|seed| run::<bumpalo::Bump<16>>(seed, STEPS));
}

#[test]
fn figures_are_bump_scopes_own_at_every_step() {
    (0..RUNS).for_each(|seed| run::<bump_scope::Bump>(seed, STEPS));
}

#[test]
fn figures_are_bump_scopes_own_when_it_bumps_downwards_with_a_minimum_alignment() {
    use bump_scope::settings::BumpSettings;
    type Downwards = bump_scope::Bump<bump_scope::alloc::Global, BumpSettings<8, false>>;
    (0..RUNS).for_each(|seed| run::<Downwards>(seed, STEPS));
}

#[test]
fn the_parts_add_up_with_every_minimum_alignment() {
    run_short::<bumpalo::Bump<1>>();
    run_short::<bumpalo::Bump<2>>();
    run_short::<bumpalo::Bump<4>>();
    run_short::<bumpalo::Bump<8>>();
    run_short::<bumpalo::Bump<16>>();
    use bump_scope::settings::BumpSettings;
    type Scope<const ALIGN: usize, const UP: bool> =
        bump_scope::Bump<bump_scope::alloc::Global, BumpSettings<ALIGN, UP>>;
    run_short::<Scope<1, true>>();
    run_short::<Scope<1, false>>();
    run_short::<Scope<2, true>>();
    run_short::<Scope<4, false>>();
    run_short::<Scope<8, true>>();
    run_short::<Scope<16, true>>();
    run_short::<Scope<16, false>>();
}

#[test]
fn what_a_shrunk_piece_gives_back_when_it_is_released_is_not_abandoned() {
    let tracked = Tracked::new("min align", bumpalo::Bump::<16>::with_min_align());
    let old = Layout::from_size_align(256, 16).unwrap();
    let new = Layout::from_size_align(139, 16).unwrap();
    let place = tracked.try_alloc_layout(old).unwrap();
    // SAFETY: a piece in use with that layout, and the new one is smaller.
    let place = unsafe { tracked.try_shrink(place, old, new) }.unwrap();
    let stats = tracked.stats();
    assert_eq!((stats.abandoned_bytes, stats.padding_bytes), (112, 5));
    // SAFETY: a piece in use with that layout.
    unsafe { tracked.release(place, new) };
    let stats = tracked.stats();
    let parts = [
        stats.used_bytes,
        stats.padding_bytes,
        stats.abandoned_bytes,
        stats.unused_tail_bytes,
    ];
    assert_eq!(parts, [0, 0, 112, 336]);
    assert_eq!(stats.allocated_bytes, 448);
}

/// An arena of one chunk. It takes back everything after a released or grown piece, including the
/// bytes that the piece left there when it shrank. It does not report how it rounds.
struct Stack {
    chunk: Box<[std::cell::UnsafeCell<u8>]>,
    used: std::cell::Cell<usize>,
}

impl Stack {
    fn at(&self, place: NonNull<u8>) -> usize {
        place.addr().get() - self.chunk.as_ptr().addr()
    }
}

// SAFETY: pieces come one after another from the chunk. Only the last piece is released or grown.
unsafe impl Arena for Stack {
    fn try_alloc_layout(
        &self,
        layout: Layout,
    ) -> Result<NonNull<u8>, tracking_alloc::arena::AllocError> {
        let at = self.used.get();
        let after = at + layout.size().next_multiple_of(16);
        if after > self.chunk.len() || layout.align() > 1 {
            return Err(tracking_alloc::arena::AllocError::by(self, layout));
        }
        self.used.set(after);
        Ok(NonNull::from(&self.chunk[at]).cast())
    }

    unsafe fn try_grow(
        &self,
        place: NonNull<u8>,
        _: Layout,
        new: Layout,
    ) -> Result<NonNull<u8>, tracking_alloc::arena::AllocError> {
        self.used
            .set(self.at(place) + new.size().next_multiple_of(16));
        Ok(place)
    }

    unsafe fn release(&self, place: NonNull<u8>, _: Layout) {
        self.used.set(self.at(place));
    }

    fn cursor(&self) -> usize {
        self.chunk.as_ptr().addr() + self.used.get()
    }

    fn used_since(&self, cursor: usize) -> Option<u64> {
        self.cursor().checked_sub(cursor).map(|used| used as u64)
    }

    fn chunks(&self) -> tracking_alloc::arena::Chunks {
        let (bytes, free) = (self.chunk.len(), self.chunk.len() - self.used.get());
        tracking_alloc::arena::Chunks {
            count: 1,
            bytes: bytes as u64,
            bytes_with_metadata: bytes as u64,
            unused_tail_bytes: free as u64,
            free_bytes: free as u64,
            present_start: self.chunk.as_ptr().addr(),
            present_bytes: bytes,
        }
    }
}

#[test]
fn the_parts_add_up_where_an_arena_takes_back_what_shrinking_left() {
    let layout = |bytes| Layout::from_size_align(bytes, 1).unwrap();
    let add_up = |stats: ArenaStats| {
        assert_eq!(
            stats.allocated_bytes,
            stats.used_bytes
                + stats.padding_bytes
                + stats.abandoned_bytes
                + stats.bypassed_bytes
                + stats.unused_tail_bytes,
            "{stats:?}"
        );
        stats
    };
    for keep in 0..2 {
        let arena = Stack {
            chunk: (0..4096).map(|_| std::cell::UnsafeCell::new(0)).collect(),
            used: std::cell::Cell::new(0),
        };
        let tracked = Tracked::new("stack", arena);
        for _ in 0..keep {
            tracked.try_alloc_layout(layout(50)).unwrap();
        }
        let mut place = tracked.try_alloc_layout(layout(256)).unwrap();
        // SAFETY: the last piece, in use with its layout at that moment. Sizes decrease and
        // increase as required.
        unsafe {
            place = tracked.try_shrink(place, layout(256), layout(139)).unwrap();
            add_up(tracked.stats());
            place = tracked.try_grow(place, layout(139), layout(250)).unwrap();
            let stats = add_up(tracked.stats());
            assert_eq!(stats.used_bytes, 250 + 50 * keep);
            if keep == 0 {
                // These are all other used bytes. Padding of another piece could stand for some of
                // them.
                assert_eq!(stats.abandoned_bytes, 6);
            }
            place = tracked.try_shrink(place, layout(250), layout(10)).unwrap();
            tracked.release(place, layout(10));
        }
        let stats = add_up(tracked.stats());
        assert_eq!(stats.used_bytes, 50 * keep);
        assert_eq!(stats.occupied_bytes(), 64 * keep);
    }
}

#[test]
fn a_limit_that_is_reached_is_counted_and_said() {
    let bump = bumpalo::Bump::new();
    bump.set_allocation_limit(Some(1000));
    let tracked = Tracked::new("small", &bump);
    let refused = tracked.try_alloc_slice_copy(&[7_u8; 5000]).unwrap_err();
    assert_eq!((refused.bytes, refused.limit), (5000, Some(1000)));
    assert!(refused.to_string().contains("limit of 1000"), "{refused}");
    assert_eq!(tracked.alloc_str("still there"), "still there");
    let stats = tracked.stats();
    assert_eq!((stats.limit_reached, stats.limit), (1, Some(1000)));
    assert_eq!((stats.used_bytes, stats.used_blocks), (11, 1));
}

#[test]
fn what_grew_past_the_handle_is_a_figure_of_its_own() {
    let bump = bumpalo::Bump::new();
    let tracked = Tracked::new("mixed", &bump);
    tracked.alloc(1_u64);
    let mut past = bumpalo::collections::Vec::new_in(&bump);
    past.extend(0..1000_u32);
    tracked.alloc(2_u64);
    let stats = tracked.stats();
    assert_eq!(stats.used_bytes, 16);
    assert!(stats.bypassed_bytes >= 4000, "{stats:?}");
    assert_eq!(past.len(), 1000);
}

#[test]
fn an_arena_that_is_claimed_meanwhile_keeps_its_figures() {
    let bump: bump_scope::Bump = bump_scope::Bump::new();
    let tracked = Tracked::new("claimed", &bump);
    tracked.alloc(1_u64);
    let before = tracked.stats();
    {
        let mut claimed = bump.claim();
        assert!(tracked.try_alloc(2_u64).is_err());
        assert_eq!(tracked.stats().used_bytes, 8);
        claimed.scoped(|scope| {
            scope.alloc_slice_fill(3000, 1_u8);
        });
    }
    let after = tracked.stats();
    assert_eq!(after.used_bytes, before.used_bytes);
    assert_eq!(after.allocated_bytes, bump.stats().capacity() as u64);
    assert_eq!(after.bypassed_bytes, 0, "the scope gave everything back");
    assert_eq!(
        after.allocated_bytes,
        after.used_bytes + after.padding_bytes + after.unused_tail_bytes
    );
}

#[test]
fn a_handle_may_move_to_another_thread_with_its_arena() {
    let tracked = Tracked::new("moving", bumpalo::Bump::new());
    tracked.alloc(1_u64);
    let handed = std::thread::spawn(move || {
        tracked.alloc(2_u64);
        tracked.stats().used_bytes
    });
    assert_eq!(handed.join().unwrap(), 16);
}
