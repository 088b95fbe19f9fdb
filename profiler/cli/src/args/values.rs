//! Parsers for flags whose values are more than text.

use std::time::Duration;

use clap::builder::{
    PossibleValuesParser, RangedU64ValueParser, StringValueParser, TypedValueParser,
};
use heapglass_profiler::check::{MostGrowth, parse_growth, parse_percent};
use heapglass_profiler::units::{parse_bytes, parse_nanos, printable};
use tracking_alloc_recording::MOST_SAMPLE_BYTES;

/// Parses the mean number of bytes from one sample to the next.
pub(super) fn sample_bytes(text: &str) -> Result<u64, String> {
    let bytes = parse_bytes(text)?;
    if (1..=MOST_SAMPLE_BYTES).contains(&bytes) {
        Ok(bytes)
    } else {
        Err("use a size from 1 byte to 1 TiB, such as 512KiB".to_owned())
    }
}

/// Parses one of the words that name the values of a type.
pub(super) fn word<T: Copy + Send + Sync + 'static, const N: usize>(
    all: [T; N],
    name: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(all.map(name)).try_map(move |word| {
        let mut all = all.into_iter();
        all.find(|one| name(*one) == word).ok_or("not a known word")
    })
}

/// Parses a label: `region=eu`.
pub(super) fn pair(text: &str) -> Result<(String, String), String> {
    let pair = text
        .split_once('=')
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
    pair.ok_or_else(|| "a label has a name and a value; write it as name=value".to_owned())
}

/// Parses a number of rows.
pub(super) fn top() -> impl TypedValueParser<Value = usize> {
    RangedU64ValueParser::<usize>::new().range(1..)
}

/// Parses a size: `30MiB`.
pub(super) fn bytes() -> impl TypedValueParser<Value = u64> {
    StringValueParser::new().try_map(|text| parse_bytes(&text))
}

/// Parses a count: `200000`, `200_000`.
pub(super) fn count() -> impl TypedValueParser<Value = u64> {
    let refuse = |text: &str| {
        let text = printable(text);
        format!("`{text}` is not a count; write digits, such as 200000")
    };
    StringValueParser::new().try_map(move |text| {
        let digits = text.replace('_', "");
        digits.parse::<u64>().map_err(|_| refuse(&text))
    })
}

/// Parses a number that may have decimals: `8.5`.
pub(super) fn ratio() -> impl TypedValueParser<Value = f64> {
    StringValueParser::new().try_map(move |text| {
        let number = text.parse::<f64>().ok();
        let number = number.filter(|number| number.is_finite() && *number >= 0.0);
        let text = printable(&text);
        number
            .ok_or_else(|| format!("`{text}` is not a number of bytes; write one such as 8 or 2.5"))
    })
}

/// Parses a time of at least a millisecond; a bare number is seconds: `5`, `0.5`, `5s`, `2min`.
pub(super) fn time() -> impl TypedValueParser<Value = Duration> {
    StringValueParser::new().try_map(move |text| {
        let time = parse_nanos(&text).map(Duration::from_nanos);
        let time = time.filter(|time| *time >= Duration::from_millis(1));
        let text = printable(&text);
        time.ok_or_else(|| {
            format!(
                "`{text}` is not a time; write seconds, such as 5 or 0.5, or a unit, such as 2min"
            )
        })
    })
}

/// Parses a largest growth: `1MiB`, `10KiB/s`, `5%`.
pub(super) fn growth() -> impl TypedValueParser<Value = MostGrowth> {
    StringValueParser::new().try_map(|text| parse_growth(&text))
}

/// Parses a percentage: `5%`.
pub(super) fn percent() -> impl TypedValueParser<Value = f64> {
    StringValueParser::new().try_map(|text| parse_percent(&text))
}
