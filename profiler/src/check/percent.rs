//! Percentages as people write them.

use crate::units::printable;

/// Reads `5 %`, `2.5%` or `0`.
///
/// # Errors
/// Returns a sentence if the text is not a percentage.
pub fn parse_percent(text: &str) -> Result<f64, String> {
    let text = text.trim();
    let number = text.strip_suffix('%').unwrap_or(text).trim_end();
    let percent = number.parse::<f64>().ok();
    let percent = percent.filter(|percent| percent.is_finite() && *percent >= 0.0);
    percent.map(|percent| percent / 100.0).ok_or_else(|| {
        let text = printable(text);
        format!("`{text}` is not a tolerance: write a percentage such as \"5 %\"")
    })
}
