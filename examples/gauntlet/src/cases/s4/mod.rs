//! Cases of source S4, "Rewriting Rust serialization part 2: performance": goser's log record both ways, by format.
//!
//! MB/s are of a format's own bytes, as in the source, which are megabytes of 10^6. Its programs ran on another machine
//! twelve years ago, most of them in other languages: what can hold is which way is the faster, not how fast it is.

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

/// All of them, in the order of the source.
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

/// One record is over sooner than a clock is read: a window holds so many.
const TIMES: usize = 10_000;
/// Texts of the record: blocks when each owns itself.
const TEXTS: f64 = 10.0;
/// Their lengths together.
const TEXT_BYTES: f64 = 236.0;

/// Reads or writes the record again and again in one window, each of so many bytes in its format; only the last is kept.
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

/// A figure of one record.
fn each(found: &Found<'_>, variant: &str, figure: &str) -> f64 {
    found.of(variant, figure) / found.of(variant, "records")
}

/// Whether one record takes these blocks and bytes in each of the variants.
fn takes(found: &Found<'_>, variants: &[&str], blocks: f64, bytes: f64) -> bool {
    variants.iter().all(|variant| {
        each(found, variant, "total_blocks") == blocks
            && each(found, variant, "total_bytes") == bytes
    })
}

/// 10^6 bytes a second; not a number when untimed.
fn mb_per_s(found: &Found<'_>, variant: &str) -> f64 {
    found.of(variant, "input_bytes") * 1e3 / found.of(variant, "time_ns")
}

/// [`mb_per_s`], for a sentence.
fn speed(found: &Found<'_>, variant: &str) -> String {
    match mb_per_s(found, variant) {
        speed if speed.is_finite() => format!("{speed:.0} MB/s"),
        _ => "(not timed)".to_owned(),
    }
}

/// Two variants, and how many times as fast the source's first is as its second: from, to.
type Faster<'a> = (&'a str, &'a str, (f64, f64));

/// The counts are as predicted, and the speeds are as far apart as in the source.
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
