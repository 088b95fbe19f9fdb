//! Cases of source S1, "Zero-copy deserialization part 2: zerovec": its whole table.

mod access;
mod archive;
mod data;
mod format;
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

/// All cases, in the order of the source.
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
    format::CASE,
];

/// Repetitions per window: one of the source's benchmarks is shorter than reading a clock.
const TIMES: usize = 10_000;

/// Repeats a benchmark in one window. Each repetition is a record of `input_bytes` bytes of input;
/// only the last result is kept.
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

/// Writes a value with bincode 1, which the source measured.
fn encoded(value: impl Serialize) -> Vec<u8> {
    bincode1::serialize(&value).expect("the value can be written")
}

/// Reads the value in such bytes. It borrows where its type borrows.
fn decoded<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> T {
    read(bytes).expect("the bytes are of this value")
}

/// Reads such bytes and returns errors too, as the source's benchmarks do. Hides the bytes from the
/// compiler; otherwise it may move the read out of the loop around it.
fn read<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> bincode1::Result<T> {
    bincode1::deserialize(black_box(bytes))
}

/// Returns a figure per record.
fn each(found: &Found<'_>, variant: &str, figure: &str) -> f64 {
    found.of(variant, figure) / found.of(variant, "records")
}

/// Returns `true` if one record of each variant takes the predicted number of blocks.
fn blocks_are(found: &Found<'_>, predicted: &[(&str, f64)]) -> bool {
    predicted
        .iter()
        .all(|(variant, blocks)| each(found, variant, "total_blocks") == *blocks)
}

/// Two variants whose times the source compares. The first is slower in the source.
struct Ratio {
    first: &'static str,
    second: &'static str,
    /// The source's time for each, nanoseconds.
    theirs_ns: (f64, f64),
    /// The reason why the result may differ here.
    why: &'static str,
}

impl Ratio {
    /// Adds this claim, with the measured ratio.
    fn claimed(&self, judged: Judged, found: &Found<'_>) -> Judged {
        let (first, second) = (self.first, self.second);
        let of = format!("times as long by {first} as by {second}");
        let (theirs, ours) = (
            self.theirs_ns.0 / self.theirs_ns.1,
            found.times(first, second),
        );
        // The reasons explain only a smaller effect.
        let why = if ours.value < theirs { self.why } else { "" };
        let claim = Claim::times(of, theirs).within(0.25);
        judged.claim(claim, ours).because(why)
    }
}

/// Judges the predicted counts, and the times that the source compares.
fn judged(found: &Found<'_>, counts: bool, said: &str, ratios: &[Ratio]) -> Judged {
    let judged = Judged::facts(counts, said.to_owned());
    ratios
        .iter()
        .fold(judged, |judged, ratio| ratio.claimed(judged, found))
}
