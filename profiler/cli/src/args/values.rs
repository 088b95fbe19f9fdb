//! Values of flags that are more than text.

use clap::builder::{
    PossibleValuesParser, RangedU64ValueParser, StringValueParser, TypedValueParser,
};
use heapglass_profiler::check::parse_percent;
use heapglass_profiler::diff::Per;
use heapglass_profiler::export::Format;
use heapglass_profiler::flamegraph;
use heapglass_profiler::profile::{Frames, Measure};
use heapglass_profiler::report::By;
use heapglass_profiler::units::{parse_bytes, printable};

/// The words of `--measure`.
pub(super) fn measure() -> impl TypedValueParser<Value = Measure> {
    PossibleValuesParser::new(Measure::ALL.map(Measure::name))
        .map(|word| Measure::from_name(&word).unwrap_or_default())
}

/// The words of `--by`.
pub(super) fn by() -> impl TypedValueParser<Value = By> {
    PossibleValuesParser::new(By::ALL.map(By::name))
        .map(|word| By::from_name(&word).unwrap_or_default())
}

/// The words of `--by` of a flamegraph.
pub(super) fn picture() -> impl TypedValueParser<Value = flamegraph::By> {
    PossibleValuesParser::new(flamegraph::By::ALL.map(flamegraph::By::name))
        .map(|word| flamegraph::By::from_name(&word).unwrap_or_default())
}

/// The words of `--per`.
pub(super) fn per() -> impl TypedValueParser<Value = Per> {
    PossibleValuesParser::new(Per::ALL.map(Per::name))
        .map(|word| Per::from_name(&word).unwrap_or(Per::Record))
}

/// The words of `--frames`.
pub(super) fn frames() -> impl TypedValueParser<Value = Frames> {
    PossibleValuesParser::new(Frames::ALL.map(Frames::name))
        .map(|word| Frames::from_name(&word).unwrap_or_default())
}

/// The words of `--to`.
pub(super) fn format() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(Format::ALL.map(Format::name))
        .map(|word| Format::from_name(&word).unwrap_or(Format::Json))
}

/// A number of rows.
pub(super) fn top() -> impl TypedValueParser<Value = usize> {
    RangedU64ValueParser::<usize>::new().range(1..)
}

/// A size: `30MiB`.
pub(super) fn bytes() -> impl TypedValueParser<Value = u64> {
    StringValueParser::new().try_map(|text| parse_bytes(&text))
}

/// A count: `200000`, `200_000`.
pub(super) fn count() -> impl TypedValueParser<Value = u64> {
    let refuse = |text: &str| format!("`{}` is not a count: write digits", printable(text));
    StringValueParser::new().try_map(move |text| {
        let digits = text.replace('_', "");
        digits.parse::<u64>().map_err(|_| refuse(&text))
    })
}

/// A part in percent: `5%`.
pub(super) fn percent() -> impl TypedValueParser<Value = f64> {
    StringValueParser::new().try_map(|text| parse_percent(&text))
}
