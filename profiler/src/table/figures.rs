//! The figures of a row under the keys that JSON and tables have them under.

use crate::profile::{FIGURES, Figures};

/// The figures by key. Arenas keep no peak of what they allocated, no shrinks and no temporary pieces: `None` of those.
pub(crate) fn by_key(
    of: Figures,
    is_of_arenas: bool,
) -> impl Iterator<Item = (&'static str, Option<u64>)> {
    FIGURES.into_iter().map(move |(key, figure)| {
        let is_missing = is_of_arenas
            && (key.starts_with("peak_") || key.starts_with("temporary_") || key == "shrinks");
        (key, (!is_missing).then(|| figure(&of)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_figure_is_forgotten_and_the_order_is_that_of_json() {
        let figures = Figures {
            total_bytes: 1,
            temporary_bytes: 13,
            ..Figures::default()
        };
        let by_key = by_key(figures, false);
        let json = by_key.map(|(key, figure)| format!("\"{key}\":{}", figure.unwrap_or(u64::MAX)));
        let json = json.collect::<Vec<_>>().join(",");
        let derived = serde_json::to_string(&figures).expect("JSON");
        assert_eq!(format!("{{{json}}}"), derived);
    }
}
