//! Values of flags that are more than text.

use clap::builder::{PossibleValuesParser, RangedU64ValueParser, TypedValueParser};
use heapglass_profiler::export::Format;
use heapglass_profiler::flamegraph;
use heapglass_profiler::profile::{Frames, Measure};
use heapglass_profiler::report::By;

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
