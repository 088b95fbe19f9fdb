//! Cases of source S4, "Rewriting Rust serialization part 2: performance": goser's log record, read
//! and written, by format.
//!
//! MB/s count a format's own bytes, as in the source; a megabyte is 10^6 bytes. The source's
//! programs ran on another machine twelve years ago, most of them in other languages. So a case can
//! only check which way is faster, not how fast it is.

mod binary;
pub(super) mod capnproto;
mod dom;
pub(super) mod flat;
pub(super) mod log;
#[rustfmt::skip]
#[expect(
    dead_code,
    unreachable_pub,
    reason = "made by the schema compiler of log.capnp"
)]
mod log_capnp;
mod protobuf;
mod sax;
mod thrift_log;
mod typed;
mod value;
mod zero_vec;

use crate::{Case, Claim, Found, Judged, Window};
use std::hint::black_box;

/// All cases, in the order of the source.
pub(crate) const CASES: &[Case] = &[
    dom::CASE,
    value::CASE,
    protobuf::CASE,
    capnproto::CASE,
    typed::CASE,
    binary::CASE,
    zero_vec::CASE,
    thrift_log::CASE,
];

/// Repetitions per window: reading one record is shorter than reading a clock.
const TIMES: usize = 10_000;
/// Number of texts of the record, thus of blocks if each text is owned.
const TEXTS: f64 = 10.0;
/// Total length of the texts.
const TEXT_BYTES: f64 = 236.0;

/// Reads or writes the record repeatedly in one window, each of `bytes` bytes in its format. Only
/// the last result is kept.
fn repeat<T>(window: &mut Window, bytes: usize, mut once: impl FnMut() -> T) {
    let times = window.scaled(TIMES);
    window.input(bytes * times, times);
    window.work(|| {
        for _ in 1..times {
            drop(black_box(once()));
        }
        once()
    });
}

/// Returns a figure per record.
fn each(found: &Found<'_>, variant: &str, figure: &str) -> f64 {
    found.of(variant, figure) / found.of(variant, "records")
}

/// Returns `true` if one record takes these blocks and bytes in each of the variants.
fn takes(found: &Found<'_>, variants: &[&str], blocks: f64, bytes: f64) -> bool {
    variants.iter().all(|variant| {
        each(found, variant, "total_blocks") == blocks
            && each(found, variant, "total_bytes") == bytes
    })
}

/// Returns the speed in 10^6 bytes per second; NaN if it was not timed.
fn mb_per_s(found: &Found<'_>, variant: &str) -> f64 {
    found.of(variant, "input_bytes") * 1e3 / found.of(variant, "time_ns")
}

/// Formats [`mb_per_s`] for a sentence.
fn speed(found: &Found<'_>, variant: &str) -> String {
    match mb_per_s(found, variant) {
        speed if speed.is_finite() => format!("{speed:.0} MB/s"),
        _ => "(not timed)".to_owned(),
    }
}

/// Two variants, and the source's ratio of their speeds, first to second: from, to.
type Faster<'a> = (&'a str, &'a str, (f64, f64));

/// Judges if the counts are as predicted, and if the ratios of the speeds are as in the source.
fn judged(found: &Found<'_>, counts: bool, faster: &[Faster<'_>], said: &str) -> Judged {
    let judged = Judged::facts(counts, said.to_owned());
    faster
        .iter()
        .fold(judged, |judged, &(first, second, (from, to))| {
            let bytes = found.of(first, "input_bytes") / found.of(second, "input_bytes");
            let claim = Claim::times(format!("MB/s by {first} for one by {second}"), from)
                .between(from, to)
                .within(0.25);
            judged
                .claim(claim, found.times(second, first).map(|times| bytes * times))
                .because("the source's are other libraries, of 2014")
        })
}
