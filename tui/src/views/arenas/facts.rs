//! What is said of an arena: advice, leaks, and whether its figures can be relied on. Every text is clean.

use heapglass_profiler::arenas::{Certainty, Point, advice, imbalance, leak_text, points};
use heapglass_profiler::profile::Arena;

use crate::model::Data;

/// What is said of one arena.
#[derive(Debug, Default)]
pub(super) struct Facts {
    /// What to do.
    pub(super) advice: Vec<String>,
    /// What is wrong: parts that do not add up, blocks left behind.
    pub(super) warnings: Vec<String>,
    /// Blocks are leaked for certain.
    pub(super) leaked: bool,
    /// Its history.
    pub(super) points: Vec<Point>,
}

/// What is said of every arena of the profile, in its order.
pub(super) fn gather(data: &Data) -> Vec<Facts> {
    let leaks = data.profile.leaks();
    let arenas = data.profile.arenas.iter().enumerate();
    let facts = |(index, arena): (usize, &Arena)| {
        let mut warnings: Vec<String> = imbalance(arena).into_iter().collect();
        let own = || leaks.iter().filter(|leak| leak.arenas.contains(&index));
        warnings.extend(own().map(|leak| leak_text(&data.profile, leak)));
        Facts {
            advice: advice(arena, data.profile.fields(), data.profile.process.state)
                .into_iter()
                .map(|advice| advice.text)
                .collect(),
            warnings,
            leaked: own().any(|leak| leak.certainty == Certainty::Leaked),
            points: points(arena),
        }
    };
    arenas.map(facts).collect()
}
