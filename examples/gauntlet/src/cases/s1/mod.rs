//! Cases of source S1, "Zero-copy deserialization part 2: zerovec": the whole of its table.

mod access;
mod archive;
mod data;
mod map;
mod numbers;
mod people;
mod strings;
mod written;

use crate::{Case, Found, Verdict, Window};
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

/// The bytes that bincode 1, the source's format, writes.
fn encoded(value: impl Serialize) -> Vec<u8> {
    bincode::serde::encode_to_vec(value, bincode::config::legacy())
        .expect("the value can be written")
}

/// The value in such bytes, borrowed where its type borrows.
fn decoded<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> T {
    let read = bincode::serde::borrow_decode_from_slice(bytes, bincode::config::legacy());
    read.expect("the bytes are of this value").0
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
    /// How many times as long the first took; not a number when untimed, or when nothing was optimised.
    fn ours(&self, found: &Found<'_>) -> f64 {
        if cfg!(debug_assertions) {
            f64::NAN
        } else {
            found.times(self.first, self.second)
        }
    }

    /// Whether the first is clearly slower here too; untimed, nothing speaks against it.
    fn holds(&self, found: &Found<'_>) -> bool {
        let ours = self.ours(found);
        ours.is_nan() || ours > 1.1
    }

    fn says(&self, found: &Found<'_>) -> String {
        let (first, second) = (self.first, self.second);
        let (ours, theirs) = (self.ours(found), self.theirs_ns.0 / self.theirs_ns.1);
        if !ours.is_nan() {
            let why = if self.holds(found) { "" } else { self.why };
            return format!(
                "{first} takes {ours:.2} times as long as {second} (the source {theirs:.2}){why}"
            );
        }
        let unoptimised = found.times(first, second);
        if unoptimised.is_nan() {
            format!("{first} against {second} not timed (the source {theirs:.2} times)")
        } else {
            format!(
                "{first} takes {unoptimised:.2} times as long as {second} in this build without optimisation, which \
                 says nothing of the source's {theirs:.2}"
            )
        }
    }
}

/// The verdict on counts that were predicted and on the first of the times that the source compares, the case's point.
/// Without times to go by, it is on the counts alone, and says so.
fn judged(found: &Found<'_>, counts: bool, said: &str, ratios: &[Ratio]) -> (Verdict, String) {
    let untimed = ratios.iter().any(|ratio| ratio.ours(found).is_nan());
    let holds = counts && ratios.first().is_none_or(|ratio| ratio.holds(found));
    let verdict = if holds {
        Verdict::Reproduced
    } else {
        Verdict::NotReproduced
    };
    let times: Vec<String> = ratios.iter().map(|ratio| ratio.says(found)).collect();
    let alone = if untimed { "by the counts alone: " } else { "" };
    let predicted = if counts {
        ""
    } else {
        " (not the predicted counts)"
    };
    (
        verdict,
        format!("{alone}{said}{predicted}; {}", times.join("; ")),
    )
}
