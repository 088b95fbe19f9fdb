//! Values of flags that are more than text.

use clap::builder::{PossibleValuesParser, RangedU64ValueParser, TypedValueParser};
use heapglass_profiler::diff::Per;
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

/// The words of `--per`.
pub(super) fn per() -> impl TypedValueParser<Value = Per> {
    PossibleValuesParser::new(Per::ALL.map(Per::name)).map(|word| match word.as_str() {
        "record" => Per::Record,
        _ => Per::InputByte,
    })
}

/// The words of `--frames`.
pub(super) fn frames() -> impl TypedValueParser<Value = Frames> {
    PossibleValuesParser::new(Frames::ALL.map(Frames::name))
        .map(|word| Frames::from_name(&word).unwrap_or_default())
}

/// A number of rows.
pub(super) fn top() -> impl TypedValueParser<Value = usize> {
    RangedU64ValueParser::<usize>::new().range(1..)
}
