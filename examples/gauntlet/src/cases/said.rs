//! Formats the comparisons of the judges. A run without times says so instead of giving a figure.

use crate::Span;

/// Formats a ratio of two times: `1.41 times`.
pub(super) fn times(ratio: impl Into<Span>) -> String {
    match ratio.into().value {
        ratio if !ratio.is_finite() => "(not timed) times".to_owned(),
        ratio if ratio < 10.0 => format!("{ratio:.2} times"),
        ratio => format!("{ratio:.0} times"),
    }
}

/// Formats a time: `63 ns`.
pub(super) fn ns(time: f64) -> String {
    if time.is_finite() {
        format!("{time:.0} ns")
    } else {
        "(not timed)".to_owned()
    }
}

/// Formats a time in milliseconds: `13.4 ms`.
pub(super) fn ms(time_ns: f64) -> String {
    if time_ns.is_finite() {
        format!("{:.1} ms", time_ns / 1e6)
    } else {
        "(not timed)".to_owned()
    }
}
