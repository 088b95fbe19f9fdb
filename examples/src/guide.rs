//! Compiles the code of the README and of the guide: each block is a documentation test of its own,
//! with nothing added. `tests/guide.rs` checks that no page and no block is missing.

macro_rules! pages {
    ($($name:ident $path:literal)*) => {
        /// The pages that contain code.
        pub const PAGES: &[&str] = &[$($path),*];
        $(
            #[cfg(doctest)]
            #[doc = include_str!(concat!("../../", $path))]
            mod $name {}
        )*
    };
}

pages! {
    readme "README.md"
    advice "docs/src/advice.md"
    agents "docs/src/agents.md"
    arenas "docs/src/arenas.md"
    attach "docs/src/attach.md"
    columns "docs/src/columns.md"
    compare "docs/src/compare.md"
    cost "docs/src/cost.md"
    decoders "docs/src/decoders.md"
    environment "docs/src/environment.md"
    exact "docs/src/exact.md"
    fields "docs/src/fields.md"
    fleet "docs/src/fleet.md"
    how "docs/src/how.md"
    json "docs/src/json.md"
    languages "docs/src/languages.md"
    leak "docs/src/leak.md"
    limits "docs/src/limits.md"
    peak "docs/src/peak.md"
    pull_requests "docs/src/pull-requests.md"
    reports "docs/src/reports.md"
    services "docs/src/services.md"
    snapshots "docs/src/snapshots.md"
    tests "docs/src/tests.md"
    tools "docs/src/tools.md"
    tui "docs/src/tui.md"
    wasm "docs/src/wasm.md"
}

/// Pages with blocks that another workspace compiles (`rust,ignore`), and the files that contain
/// the same lines.
pub const ELSEWHERE: &[(&str, &str)] = &[
    ("docs/src/leak.md", "examples/real/server/src/bin/leaky.rs"),
    (
        "docs/src/services.md",
        "examples/real/server/src/bin/live.rs",
    ),
    (
        "docs/src/services.md",
        "examples/real/server/src/bin/live_hyper.rs",
    ),
    (
        "docs/src/services.md",
        "examples/real/server/src/bin/live_actix.rs",
    ),
    ("docs/src/wasm.md", "examples/wasm/examples/guide.rs"),
];
