//! Parsing of sizes, for `HEAPGLASS_MAX_BYTES` and the options of the command.

/// Parses a size: `1500`, `64k`, `512 KiB`, `1.5MiB`, `2g`. Units are binary, case does not matter,
/// `B` is optional. Returns `None` if the text is not a size or does not fit into 64 bits.
/// Allocates nothing.
pub fn parse_size(text: &str) -> Option<u64> {
    let trimmed = text.trim();
    let split = trimmed
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(split);
    let unit = unit.trim();
    let units = [
        ("", "b", "b", 0_u32),
        ("k", "kb", "kib", 10),
        ("m", "mb", "mib", 20),
        ("g", "gb", "gib", 30),
        ("t", "tb", "tib", 40),
    ];
    let (.., shift) = units.into_iter().find(|(short, middle, long, _)| {
        [short, middle, long]
            .iter()
            .any(|name| unit.eq_ignore_ascii_case(name))
    })?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    if fraction.len() > 9 {
        return None;
    }
    let scale = 10_u128.pow(fraction.len() as u32);
    let whole: u64 = whole.parse().ok()?;
    let fraction: u64 = fraction.parse().ok()?;
    let bytes = ((u128::from(whole) * scale + u128::from(fraction)) << shift) / scale;
    u64::try_from(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_people_write_them() {
        assert_eq!(parse_size("1500"), Some(1500));
        assert_eq!(parse_size(" 512 KiB "), Some(512 * 1024));
        assert_eq!(parse_size("64MiB"), Some(64 << 20));
        assert_eq!(parse_size("1.5M"), Some(1_572_864));
        assert_eq!(parse_size("2g"), Some(2 << 30));
        for bad in [
            "",
            "k",
            "-1",
            "1.",
            ".5",
            "1 kilo",
            "1.1.1",
            "1e9",
            "yes",
            "99999999999T",
            "1.0000000001k",
        ] {
            assert_eq!(parse_size(bad), None, "{bad}");
        }
    }
}
