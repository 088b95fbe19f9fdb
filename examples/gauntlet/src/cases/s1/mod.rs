//! Cases of source S1, "Zero-copy deserialization part 2: zerovec": the whole of its table.

mod access;
mod archive;
mod data;
mod lite_map;
mod map;
mod mutation;
mod nested;
mod numbers;
mod people;
mod strings;
mod structure;
mod written;

use crate::{Case, Claim, Found, Judged, Window};
use serde::{Deserialize, Serialize};
use std::hint::black_box;

/// All of them, in the order of the source.
pub(crate) const CASES: &[Case] = &[
    numbers::MANY,
    numbers::CHARS_READ,
    numbers::SUMMED,
    access::SUM,
    access::SEARCH,
    written::CASE,
    strings::READ,
    strings::SEARCH,
    map::CASE,
    people::CASE,
    archive::CASE,
    structure::CASE,
    nested::CASE,
    mutation::CASE,
    lite_map::CASE,
];

/// One of the source's benchmarks is over sooner than a clock is read: a window holds so many.
const TIMES: usize = 10_000;

/// Does it again and again in one window, each a record of so many bytes of input; only the last is kept.
fn repeat<T>(window: &mut Window, input_bytes: usize, mut once: impl FnMut() -> T) {
    let times = window.scaled(TIMES);
    window.input(input_bytes * times, times);
    window.work(|| {
        for _ in 1..times {
            drop(black_box(once()));
        }
        once()
    });
}

/// Written by bincode 1, which is what the source measured.
fn encoded(value: impl Serialize) -> Vec<u8> {
    bincode1::serialize(&value).expect("the value can be written")
}

/// The value in such bytes, borrowed where its type borrows.
fn decoded<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> T {
    read(bytes).expect("the bytes are of this value")
}

/// What reading such bytes gives, an error included, as the source's benchmarks keep it. The compiler is not told which
/// bytes: else it may take the reading out of the loop around it.
fn read<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> bincode1::Result<T> {
    bincode1::deserialize(black_box(bytes))
}

/// A figure of one record.
fn each(found: &Found<'_>, variant: &str, figure: &str) -> f64 {
    found.of(variant, figure) / found.of(variant, "records")
}

/// Blocks that one record of each variant takes, as predicted.
fn blocks_are(found: &Found<'_>, predicted: &[(&str, f64)]) -> bool {
    predicted
        .iter()
        .all(|(variant, blocks)| each(found, variant, "total_blocks") == *blocks)
}

/// Two variants whose times the source compares; the first is the slower one there.
struct Ratio {
    first: &'static str,
    second: &'static str,
    /// The source's times of one, nanoseconds.
    theirs_ns: (f64, f64),
    /// Why it need not be so here.
    why: &'static str,
}

impl Ratio {
    /// Beside what was found.
    fn claimed(&self, judged: Judged, found: &Found<'_>) -> Judged {
        let (first, second) = (self.first, self.second);
        let of = format!("times as long by {first} as by {second}");
        let (theirs, ours) = (
            self.theirs_ns.0 / self.theirs_ns.1,
            found.times(first, second),
        );
        // The reasons are why the effect may be smaller here.
        let why = if ours.value < theirs { self.why } else { "" };
        let claim = Claim::times(of, theirs).within(0.25);
        judged.claim(claim, ours).because(why)
    }
}

/// Counts that were predicted, and the times that the source compares.
fn judged(found: &Found<'_>, counts: bool, said: &str, ratios: &[Ratio]) -> Judged {
    let judged = Judged::facts(counts, said.to_owned());
    ratios
        .iter()
        .fold(judged, |judged, ratio| ratio.claimed(judged, found))
}
