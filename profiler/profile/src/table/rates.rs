//! Rates, and figures for each record, as text.

use crate::units::{Bytes, Count, signed_bytes, without_sign_of_zero};

/// A speed of bytes: `120.4 MiB/s`.
pub fn bytes_per_second(bytes: f64) -> String {
    format!("{}/s", Bytes(bytes.round() as u64))
}

/// A number for each second: `20,000`, `0.4`.
pub fn per_second(number: f64) -> String {
    if number < 10.0 {
        format!("{number:.1}")
    } else {
        Count(number.round() as u64).to_string()
    }
}

/// Bytes for one record: `3.4 B`, `-0.5 B`, `1.2 KiB`.
pub fn bytes_each(bytes: f64) -> String {
    if bytes.abs() < 100.0 {
        without_sign_of_zero(format!("{bytes:.1} B"))
    } else {
        signed_bytes(bytes.round() as i64)
    }
}
