//! Formats of figures and names for people: bytes, counts, shares, durations, and names without
//! control characters. Every frontend uses these, so that one figure never reads two ways.
//!
//! This module must never round a figure up to a whole that it is not, and must never let a control
//! character of a recorded name through.

use std::borrow::Cow;
use std::fmt;

/// Bytes: exact below 1 KiB (`1000 B`), then one decimal in binary units (`1.5 KiB`, `6.1 MiB`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bytes(pub u64);

/// A count with thousands separators: `1,234,567`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Count(pub u64);

/// `part` of `whole` in percent with one decimal: `12.3 %`; `<0.1 %` and `>99.9 %` where rounding
/// would claim nothing or all of it, `-` when the whole is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// The numerator.
    pub part: u64,
    /// The denominator.
    pub whole: u64,
}

/// A duration in nanoseconds: `850 ns`, `12.3 ms`, `4.56 s`, `3 min 05 s`, `2 h 07 min`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Nanos(pub u64);

const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

/// Units of durations, and the percent sign.
const OTHER_UNITS: [&str; 8] = ["ns", "us", "µs", "ms", "s", "min", "h", "%"];

/// Returns `true` if `before` ends with a number and `after` begins with its unit, also that of a
/// rate (`MiB/s`). A line must not break between them.
pub fn is_figure(before: &str, after: &str) -> bool {
    let word = after.split(' ').next().unwrap_or_default();
    let unit = word.trim_end_matches([',', ';', ':', '.', ')']);
    let unit = unit.split('/').next().unwrap_or_default();
    before.ends_with(|c: char| c.is_ascii_digit())
        && (UNITS.contains(&unit) || OTHER_UNITS.contains(&unit))
}

/// Returns the words at whose spaces a line may break: a number and its unit are one word.
pub fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match words.last_mut() {
            Some(last) if is_figure(last, word) => {
                last.push(' ');
                last.push_str(word);
            }
            _ => words.push(word.to_owned()),
        }
    }
    words
}

impl Bytes {
    /// The text with that many decimals, at least 1.
    fn with_decimals(self, decimals: usize) -> String {
        if self.0 < 1024 {
            return format!("{} B", self.0);
        }
        let scale = 10_u128.pow(decimals as u32);
        // Parts of a unit, rounded half up, in integers: u128 because 10 * u64 overflows.
        let parts = |unit: usize| {
            let one = 1_u128 << (10 * unit);
            (u128::from(self.0) * scale + one / 2) / one
        };
        let last = UNITS.len() - 1;
        let unit = (1..last)
            .find(|&unit| parts(unit) < 1024 * scale)
            .unwrap_or(last);
        let (whole, part) = (parts(unit) / scale, parts(unit) % scale);
        format!("{whole}.{part:0>decimals$} {}", UNITS[unit])
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.with_decimals(1))
    }
}

/// Figures of bytes for one sentence: as usual, but with more decimals where two different ones
/// would read the same, and whole bytes where that is not enough.
pub fn bytes_apart(figures: &[u64]) -> Vec<String> {
    let mut ways = (1..=3).map(|decimals| {
        let texts = figures
            .iter()
            .map(|&bytes| Bytes(bytes).with_decimals(decimals));
        texts.collect::<Vec<String>>()
    });
    let whole = || {
        let texts = figures
            .iter()
            .map(|&bytes| format!("{} bytes", Count(bytes)));
        texts.collect()
    };
    ways.find(|texts| read_apart(figures, texts))
        .unwrap_or_else(whole)
}

/// Returns `true` if different figures have different texts.
pub fn read_apart<T: PartialEq>(figures: &[T], texts: &[String]) -> bool {
    let all = figures.iter().zip(texts).enumerate();
    let mut pairs = all.flat_map(|(at, one)| {
        let others = figures.iter().zip(texts).skip(at + 1);
        others.map(move |other| (one, other))
    });
    pairs.all(|(one, other)| one.0 == other.0 || one.1 != other.1)
}

/// A figure that rounds to nothing has no sign: `0.0 B` of `-0.0 B`.
pub fn without_sign_of_zero(text: String) -> String {
    match text.strip_prefix('-') {
        Some(rest) if !rest.contains(|c: char| matches!(c, '1'..='9')) => rest.to_owned(),
        _ => text,
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.0.to_string();
        let mut text = String::with_capacity(digits.len() + digits.len() / 3);
        for (i, digit) in digits.chars().enumerate() {
            if i > 0 && (digits.len() - i).is_multiple_of(3) {
                text.push(',');
            }
            text.push(digit);
        }
        f.pad(&text)
    }
}

impl Share {
    /// `part` of `whole`.
    pub fn of(part: u64, whole: u64) -> Share {
        Share { part, whole }
    }

    /// The share as a fraction, 0.0 when the whole is 0.
    pub fn fraction(self) -> f64 {
        if self.whole == 0 {
            0.0
        } else {
            self.part as f64 / self.whole as f64
        }
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.whole == 0 {
            return f.pad("-");
        }
        let (part, whole) = (u128::from(self.part), u128::from(self.whole));
        let permille = (part * 1000 + whole / 2) / whole;
        let text = match permille {
            0 if part > 0 => "<0.1 %".to_owned(),
            1000 if part < whole => ">99.9 %".to_owned(),
            _ => format!("{}.{} %", permille / 10, permille % 10),
        };
        f.pad(&text)
    }
}

impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.0;
        let tenths = |unit: u64, name| format!("{}.{} {name}", ns / unit, ns % unit * 10 / unit);
        let seconds = ns / 1_000_000_000;
        let (minutes, hours) = (seconds / 60, seconds / 3600);
        let text = match ns {
            0..1_000 => format!("{ns} ns"),
            1_000..1_000_000 => tenths(1_000, "us"),
            1_000_000..1_000_000_000 => tenths(1_000_000, "ms"),
            _ if minutes == 0 => format!("{seconds}.{:02} s", ns % 1_000_000_000 / 10_000_000),
            _ if hours == 0 => format!("{minutes} min {:02} s", seconds % 60),
            _ => format!("{hours} h {:02} min", minutes % 60),
        };
        f.pad(&text)
    }
}

/// A count with its noun: `1 stack`, `1,234 stacks`. `one` takes an `s` for more than one.
pub fn counted(count: u64, one: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {one}{plural}", Count(count))
}

/// A list of names as a sentence has them: `a`, `a and b`, `a, b and c`.
pub fn joined(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Reads a size as people write it: `1500`, `64k`, `512 KiB`, `1.5MiB`, `2g`; units are binary,
/// case does not matter, `B` is optional.
///
/// # Errors
/// Returns a sentence that names the text and the accepted spellings, if the text is not a size or
/// does not fit into 64 bits.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    tracking_alloc_recording::parse_size(text).ok_or_else(|| {
        format!(
            "`{}` is not a size: write bytes, or a number with K, M, G or T (1.5MiB)",
            printable(text)
        )
    })
}

/// `serde-1.0/src/de.rs` of `/home/ada/.cargo/registry/src/index-0123/serde-1.0/src/de.rs`,
/// `library/..` of `/rustc/HASH/library/..`.
pub fn without_store(path: &str) -> &str {
    for store in ["/registry/src/", "/git/checkouts/", "/rustc/"] {
        if let Some((_, rest)) = path.split_once(store)
            && let Some((_, inside)) = rest.split_once('/')
        {
            return inside;
        }
    }
    path
}

/// A recorded name as it may reach a terminal, an SVG or a log: control characters, bidirectional
/// overrides and characters that are no characters are spelled as `\u{1b}`; everything else is left
/// alone.
pub fn printable(name: &str) -> Cow<'_, str> {
    if !name.contains(is_unprintable) {
        return Cow::Borrowed(name);
    }
    let mut text = String::with_capacity(name.len() + 16);
    for c in name.chars() {
        if is_unprintable(c) {
            text.extend(c.escape_unicode());
        } else {
            text.push(c);
        }
    }
    Cow::Owned(text)
}

/// Returns `true` if a character must not reach a terminal, an SVG or a log.
pub fn is_unprintable(c: char) -> bool {
    c.is_control()
        // Bidirectional marks, embeddings, overrides and isolates; line and paragraph separators;
        // byte order mark.
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
        // Not allowed in XML at all.
        || (u32::from(c) & 0xfffe) == 0xfffe
}

/// A part that may be negative, in percent: `+27.4 %`.
pub fn signed_percent(part: f64) -> String {
    without_sign_of_zero(format!("{:+.1} %", part * 100.0))
}

/// Writes the first letter as a capital.
pub fn capital(word: &str) -> String {
    word.chars()
        .take(1)
        .flat_map(char::to_uppercase)
        .chain(word.chars().skip(1))
        .collect()
}

/// Bytes that may be negative: `-2.0 KiB`.
pub(crate) fn signed_bytes(bytes: i64) -> String {
    let sign = if bytes < 0 { "-" } else { "" };
    format!("{sign}{}", Bytes(bytes.unsigned_abs()))
}

/// Parses a time with its unit, `1.5s`, `300ms`, `2min`, `1 h`, in nanoseconds. A bare number is
/// seconds.
pub fn parse_nanos(text: &str) -> Option<u64> {
    const UNITS: [(&str, f64); 8] = [
        ("ns", 1.0),
        ("us", 1e3),
        ("ms", 1e6),
        ("min", 60e9),
        ("m", 60e9),
        ("h", 3600e9),
        ("s", 1e9),
        ("", 1e9),
    ];
    let (number, unit) = UNITS
        .into_iter()
        .find_map(|(name, unit)| Some((text.strip_suffix(name)?, unit)))?;
    let number: f64 = number.trim_end().parse().ok()?;
    let ns = number * unit;
    (0.0..=1e18).contains(&ns).then_some(ns as u64)
}

/// Returns `true` if a text matches a pattern, in which `*` stands for any text.
pub(crate) fn matches_text(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units_and_bare_numbers_are_seconds() {
        let parsed = parse_nanos;
        assert_eq!(parsed("12s"), Some(12_000_000_000));
        assert_eq!(parsed("1.5 s"), Some(1_500_000_000));
        assert_eq!(parsed("300ms"), Some(300_000_000));
        assert_eq!(parsed("2min"), Some(120_000_000_000));
        assert_eq!(parsed("2m"), parsed("120"));
        assert_eq!(parsed("1 h"), parsed("60min"));
        for text in ["", "s", "warm", "-1s", "inf", "1e30", "NaN s"] {
            assert_eq!(parsed(text), None, "{text}");
        }
    }

    #[test]
    fn a_figure_stays_with_its_unit() {
        let text = "104.0 KiB (<0.1 %), at 1 h 05 min; 12 blocks of B";
        let expected = [
            "104.0 KiB",
            "(<0.1 %),",
            "at",
            "1 h",
            "05 min;",
            "12",
            "blocks",
            "of",
            "B",
        ];
        assert_eq!(words(text), expected);
    }

    #[test]
    fn bytes_are_exact_below_a_kibibyte_and_have_one_decimal_above() {
        let spelled = |n| Bytes(n).to_string();
        assert_eq!(spelled(0), "0 B");
        assert_eq!(spelled(1023), "1023 B");
        assert_eq!(spelled(1024), "1.0 KiB");
        assert_eq!(spelled(1536), "1.5 KiB");
        assert_eq!(spelled(6_392_832), "6.1 MiB");
        assert_eq!(spelled(u64::MAX), "16.0 EiB");
    }

    #[test]
    fn figures_that_differ_read_differently() {
        let mib = 1 << 20;
        assert_eq!(bytes_apart(&[mib, 2 * mib]), ["1.0 MiB", "2.0 MiB"]);
        assert_eq!(bytes_apart(&[mib, mib]), ["1.0 MiB", "1.0 MiB"]);
        assert_eq!(bytes_apart(&[mib + 52_000, mib]), ["1.05 MiB", "1.00 MiB"]);
        assert_eq!(
            bytes_apart(&[mib + 1, mib, 5]),
            ["1,048,577 bytes", "1,048,576 bytes", "5 bytes"]
        );
        assert_eq!(signed_percent(-0.0001), "0.0 %");
        assert_eq!(signed_percent(-0.01), "-1.0 %");
    }

    #[test]
    fn bytes_that_round_up_to_1024_take_the_next_unit() {
        assert_eq!(Bytes(1024 * 1024 - 1).to_string(), "1.0 MiB");
        assert_eq!(Bytes(1024 * 1024 - 52).to_string(), "1023.9 KiB");
    }

    #[test]
    fn figures_honour_the_width_they_are_padded_to() {
        assert_eq!(
            format!("{:>9}|{:<9}|", Bytes(12), Count(1234)),
            "     12 B|1,234    |"
        );
    }

    #[test]
    fn counts_have_thousands_separators() {
        assert_eq!(Count(0).to_string(), "0");
        assert_eq!(Count(999).to_string(), "999");
        assert_eq!(Count(1000).to_string(), "1,000");
        assert_eq!(Count(u64::MAX).to_string(), "18,446,744,073,709,551,615");
    }

    #[test]
    fn nouns_follow_their_count() {
        assert_eq!(counted(1, "stack"), "1 stack");
        assert_eq!(counted(0, "stack"), "0 stacks");
        assert_eq!(counted(1_200, "block"), "1,200 blocks");
    }

    #[test]
    fn a_share_never_claims_nothing_or_all_of_what_is_neither() {
        assert_eq!(Share::of(1, 8).to_string(), "12.5 %");
        assert_eq!(Share::of(0, 8).to_string(), "0.0 %");
        assert_eq!(Share::of(1, 1_000_000).to_string(), "<0.1 %");
        assert_eq!(Share::of(999_999, 1_000_000).to_string(), ">99.9 %");
        assert_eq!(Share::of(8, 8).to_string(), "100.0 %");
        assert_eq!(Share::of(8, 0).to_string(), "-");
        assert_eq!(Share::of(u64::MAX, u64::MAX).to_string(), "100.0 %");
    }

    #[test]
    fn durations_take_the_unit_that_reads_best() {
        let spelled = |n| Nanos(n).to_string();
        assert_eq!(spelled(850), "850 ns");
        assert_eq!(spelled(1_250), "1.2 us");
        assert_eq!(spelled(12_345_678), "12.3 ms");
        assert_eq!(spelled(4_567_000_000), "4.56 s");
        assert_eq!(spelled(185_000_000_000), "3 min 05 s");
        assert_eq!(spelled(7_620_000_000_000), "2 h 07 min");
    }

    #[test]
    fn a_text_that_is_no_size_is_named() {
        assert_eq!(parse_bytes("1.5M"), Ok(1_572_864));
        assert!(parse_bytes("1 kilo").unwrap_err().contains("`1 kilo`"));
    }

    #[test]
    fn names_lose_control_characters_and_direction_overrides() {
        assert!(matches!(
            printable("alloc::vec::Vec<T,A>::push"),
            Cow::Borrowed(_)
        ));
        assert_eq!(printable("a\u{1b}[31mb\nc"), "a\\u{1b}[31mb\\u{a}c");
        assert_eq!(
            printable("x\u{202e}y\u{fffe}z\u{85}"),
            "x\\u{202e}y\\u{fffe}z\\u{85}"
        );
        assert_eq!(printable("größe 日本"), "größe 日本");
    }

    #[test]
    fn places_lose_the_folders_of_registries_and_toolchains() {
        let registry = "/home/ada/.cargo/registry/src/registry.example-0123/serde-1.0/src/de.rs:7";
        assert_eq!(without_store(registry), "serde-1.0/src/de.rs:7");
        assert_eq!(
            without_store("/rustc/5980/library/alloc/src/boxed.rs"),
            "library/alloc/src/boxed.rs"
        );
        assert_eq!(
            without_store("/home/ada/cities/src/main.rs"),
            "/home/ada/cities/src/main.rs"
        );
        assert_eq!(without_store("/rustc/"), "/rustc/");
    }

    #[test]
    fn a_star_stands_for_any_text() {
        for (pattern, text) in [
            ("xmalloc", "xmalloc"),
            ("g_malloc*", "g_malloc0_n"),
            ("upb_*Alloc", "upb_Arena_Alloc"),
            ("*", ""),
            ("a*b*c", "axxbyyc"),
        ] {
            assert!(matches_text(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [
            ("xmalloc", "xmalloc_all"),
            ("xmalloc", "my_xmalloc"),
            ("a*b*c", "acb"),
            ("ab*ba", "aba"),
        ] {
            assert!(!matches_text(pattern, text), "{pattern} {text}");
        }
    }
}
