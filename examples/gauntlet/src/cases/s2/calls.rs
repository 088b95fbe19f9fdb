//! 2.12: an allocator's system calls, and the memory that it keeps: fragmentation.

use crate::calls::{Seen, Stage, watched};
use crate::{Case, Claim, Found, Judged, Variant, Window};
use bumpalo::Bump;
use heapglass_examples::data::Random;

/// The case.
pub(super) const CASE: Case = Case {
    id: "2.12",
    system: "brk and mmap calls, and fragmentation: 100,000 chunks of 16 to 256 B, of which every 16th stays; blocks of 5 to 25 MB",
    headline: "malloc is no system call but uses brk and mmap; glibc's uses mmap alone where it can",
    variants: &[
        Variant::new("glibc", chunks).under("glibc"),
        Variant::new("jemalloc", chunks).under("jemalloc"),
        Variant::new("mimalloc", chunks).under("mimalloc"),
        Variant::new("bumpalo", arena),
        Variant::new("glibc, large", large).under("glibc"),
        Variant::new("jemalloc, large", large).under("jemalloc"),
        Variant::new("mimalloc, large", large).under("mimalloc"),
    ],
    judge,
};

fn judge(found: &Found<'_>) -> Judged {
    let names = ["total_blocks", "total_bytes", "peak_bytes", "live_bytes"];
    let same = |first: &str, second: &str| {
        names
            .iter()
            .all(|name| found.of(first, name) == found.of(second, name))
    };
    let chunks = found.of("glibc", "records");
    let holds = same("glibc", "jemalloc")
        && same("glibc", "mimalloc")
        && same("glibc, large", "jemalloc, large")
        && same("glibc, large", "mimalloc, large")
        // The chunks, and the blocks that replace the freed ones.
        && found.of("glibc", "total_blocks") > chunks;
    let calls = |variant: &str| {
        let count = |name: &str| found.of(variant, name);
        match count("brk_calls") {
            brk if brk.is_nan() => "(not traced)".to_owned(),
            brk => format!(
                "{} brk to grow and {} to shrink, {} mmap, {} munmap, {} madvise",
                brk - count("brk_shrink_calls"),
                count("brk_shrink_calls"),
                count("mmap_calls"),
                count("munmap_calls"),
                count("madvise_calls"),
            ),
        }
    };
    let ratio = |of: f64| match of.is_finite() {
        true => format!("{of:.2} times"),
        false => "(the system does not tell) times".to_owned(),
    };
    let of = |variant: &str| {
        let (live, resident) = (
            found.of(variant, "left_bytes"),
            found.of(variant, "left_resident_bytes"),
        );
        format!(
            "{variant}: {}; {} what is asked for, {} what is left when most is freed, and {} the bytes more for as \
             much in another size",
            calls(variant),
            ratio(found.of(variant, "full_resident_bytes") / found.of(variant, "asked_bytes")),
            ratio(resident / live),
            ratio(
                (found.of(variant, "again_resident_bytes") - resident)
                    / found.of(variant, "again_bytes"),
            ),
        )
    };
    let why = format!(
        "the same blocks whatever allocates. Resident after {} B were asked for and written to, after all but {} B were \
         freed, and after chunks of {AGAIN} B took the place of those (what was in a page of 2 MiB before is not counted): \
         {}. In blocks of 5 to 25 MB that nobody writes to: glibc {}; jemalloc {}; mimalloc {}",
        found.of("glibc", "asked_bytes"),
        found.of("glibc", "left_bytes"),
        ["glibc", "jemalloc", "mimalloc", "bumpalo"]
            .map(of)
            .join(". "),
        calls("glibc, large"),
        calls("jemalloc, large"),
        calls("mimalloc, large"),
    );
    let share = |variant: &str| {
        let calls = |name: &str| found.of(variant, name);
        let grown = calls("brk_calls") - calls("brk_shrink_calls");
        calls("mmap_calls") / (grown + calls("mmap_calls"))
    };
    let alone = |of: &str| {
        Claim::count(
            format!("share of mmap in glibc's calls for memory, {of}"),
            1.0,
        )
    };
    Judged::facts(holds, why)
        .claim(alone("small chunks"), share("glibc"))
        .because("its first arena is the program break; mmap is for blocks of 128 KiB and more")
        .claim(alone("large blocks"), share("glibc, large"))
        .because("when a mapped block is freed, blocks of its size come from the program break from then on")
}

/// The talk's sizes, used in turn.
const SIZES: [usize; 5] = [16, 32, 64, 128, 256];
const CHUNKS: usize = 100_000;
/// One chunk in this many stays.
const STAYS: usize = 16;
/// Size of the blocks that replace the freed ones; no earlier block has this size.
const AGAIN: usize = 192;

const FULL: usize = 1;
const LEFT: usize = 2;
const REFILLED: usize = 3;

type Chunk = Option<Vec<u8>>;

fn size(at: usize) -> usize {
    SIZES.get(at % SIZES.len()).copied().unwrap_or_default()
}

fn stays(at: usize) -> bool {
    at.is_multiple_of(STAYS)
}

/// Notes the bytes requested at first, left after most are freed, and requested again. Returns the
/// number of blocks requested again.
fn note_bytes(window: &mut Window, count: usize) -> usize {
    let asked: usize = (0..count).map(size).sum();
    let left: usize = (0..count).filter(|at| stays(*at)).map(size).sum();
    let again = (asked - left) / AGAIN;
    window.input(asked, count);
    window.note("asked_bytes", asked as f64);
    window.note("left_bytes", left as f64);
    window.note("again_bytes", (again * AGAIN) as f64);
    again
}

/// Notes the measurements of the child.
fn note_seen(window: &mut Window, seen: Option<Seen>) {
    let Some(seen) = seen else { return };
    for (name, count) in seen.calls.into_iter().flatten() {
        window.note(name, count as f64);
    }
    let [before, after @ ..] = seen.resident_bytes;
    let names = [
        "full_resident_bytes",
        "left_resident_bytes",
        "again_resident_bytes",
    ];
    for (name, after) in names.into_iter().zip(after) {
        // If the work has no such stage, there is no figure.
        if before > 0 && after > 0 {
            window.note(name, after as f64 - before as f64);
        }
    }
}

/// Allocates chunks, frees most of them, and allocates others to replace them.
fn chunks(window: &mut Window) {
    let count = window.scaled(CHUNKS);
    let again = note_bytes(window, count);
    // Written to in advance, so that it is resident before the first stage.
    let mut room: Vec<Chunk> = vec![None; count + again];
    let filled = |size: usize| Some(vec![1_u8; size]);
    let mut script = |stage: Option<&Stage<'_>>| {
        let keep = |number| stage.into_iter().for_each(|stage| stage.keep(number));
        keep(0);
        let (first, second) = room.split_at_mut(count);
        (0..)
            .zip(&mut *first)
            .for_each(|(at, chunk)| *chunk = filled(size(at)));
        keep(FULL);
        let freed = (0..).zip(&mut *first).filter(|(at, _)| !stays(*at));
        freed.for_each(|(_, chunk)| *chunk = None);
        keep(LEFT);
        second.iter_mut().for_each(|chunk| *chunk = filled(AGAIN));
        keep(REFILLED);
        room.fill(None);
    };
    if window.is_counting() {
        note_seen(window, watched(|stage| script(Some(stage))));
    }
    window.work(|| script(None));
}

/// Does the same in an arena, which frees nothing until it frees everything.
fn arena(window: &mut Window) {
    let count = window.scaled(CHUNKS);
    let again = note_bytes(window, count);
    let script = |stage: Option<&Stage<'_>>| {
        let keep = |number| stage.into_iter().for_each(|stage| stage.keep(number));
        keep(0);
        let bump = Bump::new();
        (0..count).for_each(|at| {
            bump.alloc_slice_fill_copy(size(at), 1_u8);
        });
        keep(FULL);
        keep(LEFT);
        (0..again).for_each(|_| {
            bump.alloc_slice_fill_copy(AGAIN, 1_u8);
        });
        keep(REFILLED);
    };
    if window.is_counting() {
        note_seen(window, watched(|stage| script(Some(stage))));
    }
    window.work(|| script(None));
}

/// Maximum number of live blocks, as in 2.6.
const LIVE: usize = 20;
const REPLACED: usize = 1_000;

/// Allocates blocks of 5 to 25 MB, each in place of another.
fn large(window: &mut Window) {
    let replaced = window.scaled(REPLACED);
    window.input(0, replaced);
    let mut blocks: Vec<Vec<u8>> = vec![Vec::new(); LIVE];
    let mut script = || {
        let random = &mut Random::new(42);
        for _ in 0..replaced {
            let size = 5_000_000 + random.below(20_000_001);
            if let Some(block) = blocks.get_mut(random.below(LIVE)) {
                *block = Vec::with_capacity(size);
            }
        }
        blocks.fill(Vec::new());
    };
    if window.is_counting() {
        note_seen(window, watched(|_| script()));
    }
    window.work(script);
}
