//! 2.9: `SmallVec<[u8; 4]>`: inline up to its fourth byte, on the heap from the fifth on.

use crate::cases::said::times;
use crate::{Case, Judged, Variant, Window};
use smallvec::SmallVec;

/// The case.
pub(super) const CASE: Case = Case {
    id: "2.9",
    system: "SmallVec [u8; 4] spilling at the fifth",
    headline: "no figures in its text: it spills at the fifth",
    variants: &[
        Variant::new("Vec, 4", |window| {
            each(window, |_| (0..4_u8).fold(Vec::new(), pushed), |_| true)
        }),
        Variant::new("SmallVec, 4", |window| {
            each(window, |_| small(4), SmallVec::spilled)
        }),
        Variant::new("SmallVec, 5", |window| {
            each(window, |_| small(5), SmallVec::spilled)
        }),
        Variant::new("SmallVec, 1 to 8", |window| {
            each(window, |at| small(at % 8 + 1), SmallVec::spilled)
        }),
    ],
    judge: |found| {
        // One block holds them all; each spilled one has another block.
        let spilled = |variant: &str| found.of(variant, "total_blocks") - 1.0;
        let vectors = found.of("Vec, 4", "records");
        let holds = spilled("Vec, 4") == vectors
            && spilled("SmallVec, 4") == 0.0
            && spilled("SmallVec, 5") == vectors
            && spilled("SmallVec, 1 to 8") == found.of("SmallVec, 1 to 8", "spilled");
        let why = format!(
            "{vectors:.0} vectors: of 4 bytes {:.0} blocks as Vec, {:.0} inline; of 5 bytes {:.0} spilled; of 1 to 8 \
             bytes {:.0} spilled; 4 bytes pushed take {} as long in a Vec",
            spilled("Vec, 4"),
            spilled("SmallVec, 4"),
            spilled("SmallVec, 5"),
            spilled("SmallVec, 1 to 8"),
            times(found.times("Vec, 4", "SmallVec, 4")),
        );
        Judged::facts(holds, why)
    },
};

const VECTORS: usize = 10_000;

fn pushed(mut bytes: Vec<u8>, byte: u8) -> Vec<u8> {
    bytes.push(byte);
    bytes
}

fn small(length: usize) -> SmallVec<[u8; 4]> {
    let mut bytes = SmallVec::new();
    (0..length).for_each(|byte| bytes.push(byte as u8));
    bytes
}

/// Creates many, keeps them, and notes the number that are on the heap.
fn each<T>(window: &mut Window, make: impl Fn(usize) -> T, spilled: impl Fn(&T) -> bool) {
    let vectors = window.scaled(VECTORS);
    window.input(0, vectors);
    let mut count = 0;
    window.work(|| {
        let mut all = Vec::with_capacity(vectors);
        (0..vectors).for_each(|at| all.push(make(at)));
        count = all.iter().filter(|one| spilled(one)).count();
        all
    });
    window.note("spilled", count as f64);
}
