//! 2.4: 1,600 chunks written byte by byte. Half of them are freed in the order of allocation, half
//! in the opposite order.

use crate::cases::said::times;
use crate::{Case, Claim, Found, Judged, Span, Variant, Window};
use bumpalo::{Bump, collections::Vec as BumpVec};

/// The case.
pub(super) const CASE: Case = Case {
    id: "2.4",
    system: "1600 chunks of 16, 32, 64, 128, 256 B; free half FIFO, half LIFO; buffers written byte by byte",
    headline: "its charts are pictures, no figures; in words: bump allocators for many small objects that live briefly, mimalloc when \
               only performance counts",
    variants: &[
        Variant::new("glibc 16 B", heap::<16>).under("glibc"),
        Variant::new("jemalloc 16 B", heap::<16>).under("jemalloc"),
        Variant::new("mimalloc 16 B", heap::<16>).under("mimalloc"),
        Variant::new("bumpalo 16 B", reset::<16>),
        Variant::new("glibc 32 B", heap::<32>).under("glibc"),
        Variant::new("jemalloc 32 B", heap::<32>).under("jemalloc"),
        Variant::new("mimalloc 32 B", heap::<32>).under("mimalloc"),
        Variant::new("bumpalo 32 B", reset::<32>),
        Variant::new("glibc 64 B", heap::<64>).under("glibc"),
        Variant::new("jemalloc 64 B", heap::<64>).under("jemalloc"),
        Variant::new("mimalloc 64 B", heap::<64>).under("mimalloc"),
        Variant::new("bumpalo 64 B", reset::<64>),
        Variant::new("glibc 128 B", heap::<128>).under("glibc"),
        Variant::new("jemalloc 128 B", heap::<128>).under("jemalloc"),
        Variant::new("mimalloc 128 B", heap::<128>).under("mimalloc"),
        Variant::new("bumpalo 128 B", reset::<128>),
        Variant::new("glibc 256 B", heap::<256>).under("glibc"),
        Variant::new("jemalloc 256 B", heap::<256>).under("jemalloc"),
        Variant::new("mimalloc 256 B", heap::<256>).under("mimalloc"),
        Variant::new("bumpalo 256 B", reset::<256>),
        Variant::new("bumpalo 256 B, never reset", kept::<256>),
    ],
    judge,
};

fn judge(found: &Found<'_>) -> Judged {
    let exact = |size: u32| {
        ["glibc", "jemalloc", "mimalloc"].iter().all(|allocator| {
            let variant = format!("{allocator} {size} B");
            let chunks = found.of(&variant, "records");
            found.of(&variant, "total_blocks") == chunks
                && found.of(&variant, "peak_bytes") == chunks * f64::from(size)
                && found.of(&variant, "live_blocks") == 0.0
        })
    };
    let holds = SIZES.into_iter().all(exact);
    let against = |size: u32| {
        let ratio = |allocator: &str| {
            found.times(&format!("glibc {size} B"), &format!("{allocator} {size} B"))
        };
        format!(
            "{} that of jemalloc, {} that of mimalloc, {} that of bumpalo",
            times(ratio("jemalloc")),
            times(ratio("mimalloc")),
            times(ratio("bumpalo")),
        )
    };
    let slack = |allocator: &str| {
        let variant = format!("{allocator} 16 B");
        100.0 * (found.of(&variant, "usable_bytes") / found.of(&variant, "peak_bytes") - 1.0)
    };
    let why = format!(
        "a block a chunk, all of them live at once, whatever allocates; glibc's time at 16 B \
         is {}, at 256 B {}; a 16 B chunk really holds {:.0} % more in glibc, {:.0} % in jemalloc, {:.0} % in \
         mimalloc. The talk's bumpalo is never reset: after 10 passes it holds {:.0} B, a reset one \
         {:.0} B",
        against(16),
        against(256),
        slack("glibc"),
        slack("jemalloc"),
        slack("mimalloc"),
        found.of("bumpalo 256 B, never reset", "arena_bytes"),
        found.of("bumpalo 256 B", "arena_bytes"),
    );
    Judged::facts(holds, why)
        .claim(
            Claim::more("at the size where it gains least: times as long by the fastest of the others as by bumpalo"),
            gain(found, "bumpalo", &["glibc", "jemalloc", "mimalloc"]),
        )
        .claim(
            Claim::more("the same: by the faster of glibc and jemalloc as by mimalloc"),
            gain(found, "mimalloc", &["glibc", "jemalloc"]),
        )
}

const SIZES: [u32; 5] = [16, 32, 64, 128, 256];

/// Returns the time of the fastest of the others divided by the allocator's, at the size where this
/// ratio is smallest; NaN if one of them was not timed.
fn gain(found: &Found<'_>, allocator: &str, others: &[&str]) -> Span {
    let ratios = SIZES.iter().flat_map(|size| {
        others.iter().map(move |other| {
            found.times(
                &format!("{other} {size} B"),
                &format!("{allocator} {size} B"),
            )
        })
    });
    // NaN sorts below all numbers.
    let least = ratios.min_by(|a, b| match (a.value.is_nan(), b.value.is_nan()) {
        (false, false) => a.value.total_cmp(&b.value),
        (a, b) => b.cmp(&a),
    });
    least.unwrap_or(Span::from(f64::NAN))
}

/// Number of chunks in a pass.
pub(super) const CHUNKS: usize = 1600;

/// Number of passes without a reset, enough to show the effect of a missing reset.
const PASSES: usize = 10;

/// Does one pass: allocates and fills as many chunks as `chunks` has room for, and frees all of
/// them.
pub(super) fn pass<const SIZE: usize>(chunks: &mut Vec<Option<Vec<u8>>>, count: usize) {
    for _ in 0..count {
        let mut chunk = Vec::with_capacity(SIZE);
        (0..SIZE).for_each(|at| chunk.push(at as u8));
        chunks.push(Some(chunk));
    }
    let (first, second) = chunks.split_at_mut(count / 2);
    first.iter_mut().for_each(|chunk| *chunk = None);
    second.iter_mut().rev().for_each(|chunk| *chunk = None);
    chunks.clear();
}

fn heap<const SIZE: usize>(window: &mut Window) {
    let count = window.scaled(CHUNKS);
    window.input(count * SIZE, count);
    let mut chunks = Vec::with_capacity(count);
    window.work(|| pass::<SIZE>(&mut chunks, count));
}

/// Does the same in an arena, which also holds the list of chunks. Freeing returns only the last
/// chunk, so FIFO frees nothing.
fn pass_in<const SIZE: usize>(bump: &Bump, count: usize) {
    let mut chunks = BumpVec::with_capacity_in(count, bump);
    for _ in 0..count {
        let mut chunk = BumpVec::with_capacity_in(SIZE, bump);
        (0..SIZE).for_each(|at| chunk.push(at as u8));
        chunks.push(Some(chunk));
    }
    let (first, second) = chunks.split_at_mut(count / 2);
    first.iter_mut().for_each(|chunk| *chunk = None);
    second.iter_mut().rev().for_each(|chunk| *chunk = None);
}

fn reset<const SIZE: usize>(window: &mut Window) {
    let count = window.scaled(CHUNKS);
    window.input(count * SIZE, count);
    let mut bump = Bump::new();
    window.work(|| {
        pass_in::<SIZE>(&bump, count);
        bump.reset();
    });
    window.note("arena_bytes", bump.allocated_bytes() as f64);
}

fn kept<const SIZE: usize>(window: &mut Window) {
    let count = window.scaled(CHUNKS);
    window.input(PASSES * count * SIZE, PASSES * count);
    let bump = Bump::new();
    window.work(|| (0..PASSES).for_each(|_| pass_in::<SIZE>(&bump, count)));
    window.note("arena_bytes", bump.allocated_bytes() as f64);
}
