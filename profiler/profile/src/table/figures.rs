//! The figures of a row, under their keys in JSON and tables.

use super::By;
use crate::profile::{FIGURES, Figures};

/// The figures of a row by key; `None` of those that rows of this kind do not have. Arenas keep no
/// peak of what they allocated, no shrinks and no temporary pieces. Threads have no live bytes,
/// since any thread may free a block.
pub fn by_key(of: &Figures, by: By) -> impl Iterator<Item = (&'static str, Option<u64>)> {
    let is_missing = move |key: &str| match by {
        By::Arena => key.starts_with("peak_") || key.starts_with("temporary_") || key == "shrinks",
        By::Thread => key.starts_with("peak_") || key.starts_with("live_"),
        _ => false,
    };
    FIGURES
        .into_iter()
        .map(move |(key, figure)| (key, (!is_missing(key)).then(|| figure(of))))
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
        let by_key = by_key(&figures, By::Site);
        let json = by_key
            .map(|(key, figure)| format!("\"{key}\":{}", figure.unwrap_or(u64::MAX)))
            .collect::<Vec<_>>()
            .join(",");
        let derived = serde_json::to_string(&figures).expect("JSON");
        assert_eq!(format!("{{{json}}}"), derived);
    }
}
