//! Two colours: red for more and blue for less, paler for smaller differences.

use crate::flamegraph::palette::Rgb;

/// More on the second side.
pub(crate) const MORE: Rgb = (0xe8, 0x5d, 0x4c);
/// Less on the second side.
pub(crate) const LESS: Rgb = (0x5b, 0x8d, 0xef);
/// No difference.
const EQUAL: Rgb = (0xec, 0xea, 0xe6);
/// The palest colour of a difference, which must not look like none.
const LEAST: f64 = 0.18;

/// Returns the strength of the colour of a difference, 0 to 1; `most` is the largest difference in
/// the picture.
pub fn strength(difference: i128, most: u128) -> f64 {
    let part = (difference.unsigned_abs() as f64 / most.max(1) as f64).min(1.0);
    // A root: differences span orders of magnitude.
    part.sqrt()
}

/// The colour of a difference; `most` is the largest one in the picture.
pub(crate) fn of_difference(difference: i128, most: u128) -> Rgb {
    let full = match difference {
        0 => return EQUAL,
        1.. => MORE,
        _ => LESS,
    };
    let strength = LEAST + (1.0 - LEAST) * strength(difference, most);
    let mix = |from: u8, to: u8| {
        let mixed = f64::from(from) + (f64::from(to) - f64::from(from)) * strength;
        mixed.round() as u8
    };
    (
        mix(EQUAL.0, full.0),
        mix(EQUAL.1, full.1),
        mix(EQUAL.2, full.2),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_is_red_less_is_blue_and_nothing_is_grey() {
        assert_eq!(of_difference(10, 10), MORE);
        assert_eq!(of_difference(-10, 10), LESS);
        assert_eq!(of_difference(0, 10), EQUAL);
        let (r, _, b) = of_difference(1, 1_000_000);
        assert!(r > b, "the smallest difference is still red: {r} {b}");
    }
}
