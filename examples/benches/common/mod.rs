//! What the benchmarks share.

/// The word after a flag.
pub(crate) fn after<'w>(words: &'w [String], flag: &str) -> Option<&'w String> {
    let index = words.iter().position(|word| word == flag)?;
    words.get(index + 1)
}

/// How often to run: `--runs N`.
pub(crate) fn runs(words: &[String], usually: usize) -> usize {
    after(words, "--runs")
        .and_then(|number| number.parse().ok())
        .unwrap_or(usually)
}

/// The middle one.
pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
