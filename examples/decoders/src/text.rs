//! Numbers as text.

/// Returns a number with commas.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Returns bytes with a unit, in three digits.
pub(crate) fn bytes(bytes: u64) -> String {
    let units = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    match units.into_iter().find(|unit| bytes >= unit.1) {
        None => format!("{bytes} B"),
        Some((name, unit)) => format!("{} {name}", ratio(bytes, unit)),
    }
}

/// Returns a quotient in about three digits.
pub(crate) fn ratio(of: u64, by: u64) -> String {
    let quotient = of as f64 / by as f64;
    if by == 0 {
        "-".to_owned()
    } else if quotient >= 99.95 {
        grouped(quotient.round() as u64)
    } else if quotient >= 9.995 {
        format!("{quotient:.1}")
    } else {
        format!("{quotient:.2}")
    }
}

/// Returns a share in whole percent.
pub(crate) fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "0 %".to_owned();
    }
    format!("{} %", (part * 100 + whole / 2) / whole)
}

/// Wraps the lines of a page at 120 columns, but not those of tables.
pub(crate) fn wrapped(page: &str) -> String {
    let mut out = String::new();
    for line in page.lines() {
        if line.starts_with('|') {
            out += line;
            out.push('\n');
            continue;
        }
        let mut rest = line;
        while rest.chars().count() > 120 {
            let fits = rest.char_indices().take(121).filter(|(_, c)| *c == ' ');
            let Some((at, _)) = fits.last() else { break };
            out += &rest[..at];
            out.push('\n');
            rest = &rest[at + 1..];
        }
        out += rest;
        out.push('\n');
    }
    out
}
