//! 0.23: the allocation benchmark and small strings in WebAssembly, in node and in browsers, as in
//! the source. It does not run here: `examples/wasm/run --publish` measures it and writes the file
//! that this case reads.

use super::{times, words};
use crate::{Case, Claim, Found, Judged, Variant, Window};
use serde::Deserialize;

/// The case.
pub(super) const CASE: Case = Case {
    id: "0.23",
    system: "0.1, 0.5, 0.6 and 0.20 as WebAssembly in node, Chromium and Firefox (examples/wasm/run --publish)",
    headline: "Chrome, 1M iterations: global 707 ms, bumpalo 136 ms; 100k: 24.5 / 14.6 (Firefox 218/156, 23/17); talc no \
               benefit; bump-scope ~2x bumpalo, level with the same Vec; small strings can hurt",
    variants: &[
        Variant::new("node", |window| engine(window, "node")),
        Variant::new("Chromium", |window| engine(window, "Chromium")),
        Variant::new("Firefox", |window| engine(window, "Firefox")),
    ],
    judge,
};

/// A browser, and the source's times in it, ms: by the global allocator and by bumpalo, for a
/// million lists and for 100,000.
type Browser = (&'static str, [(f64, f64); 2]);

const BROWSERS: [Browser; 2] = [
    ("Chromium", [(707.0, 136.0), (24.5, 14.6)]),
    ("Firefox", [(218.0, 156.0), (23.0, 17.0)]),
];

const LISTS: [u32; 2] = [1_000_000, 100_000];

/// The input whose names rarely fit into a small string.
const LONG: &str = "names of 2 to 80 bytes, 200000";

fn judge(found: &Found<'_>) -> Judged {
    let of =
        |engine: &str, work: &str, figure: &str| found.of(engine, &format!("{work}, {figure}"));
    let ms = |engine: &str, work: &str| of(engine, work, "ms");
    let million = |engine: &str, work: &str, figure: &str| {
        of(engine, &format!("{work}, {}", LISTS[0]), figure)
    };
    let counted = |engine: &str| {
        million(engine, "global", "blocks") == words::global_blocks(f64::from(LISTS[0]))
            && found.of(engine, "inline bytes of a small string") == 12.0
    };
    let holds = ["node", "Chromium", "Firefox"].into_iter().all(counted);
    let memory = |work: &str| {
        let of = |figure| million("Chromium", work, figure);
        format!("{:.0} times to {:.0} pages", of("grows"), of("pages"))
    };
    let why = format!(
        "with a million lists dlmalloc grows linear memory {}, bumpalo {}, pre-sized {}; a small string holds 12 bytes; under \
         node, whose V8 is older, the global allocator takes {} as long as bumpalo, as in the source's Chrome",
        memory("global"),
        memory("bumpalo"),
        memory("bumpalo, pre-sized"),
        times(million("node", "global", "ms") / million("node", "bumpalo, pre-sized", "ms")),
    );
    let mut judged = Judged::facts(holds, why);
    for (engine, theirs) in BROWSERS {
        let slower = |first: &str, second: &str, count: u32| {
            ms(engine, &format!("{first}, {count}")) / ms(engine, &format!("{second}, {count}"))
        };
        for (lists, (global, bumpalo)) in LISTS.into_iter().zip(theirs) {
            judged = judged
                .claim(
                    Claim::times(format!("{engine}, {lists} lists: times as long by the global allocator as by bumpalo"), global / bumpalo),
                    slower("global", "bumpalo, pre-sized", lists),
                )
                .because("2,241 grows of linear memory alone cost 350 ms in node 20, 4 ms in Chromium 156");
        }
        judged = judged
            .claim(
                Claim::level(format!(
                    "{engine}: times as long by an arena that grows as by a pre-sized one"
                )),
                slower("bumpalo", "bumpalo, pre-sized", LISTS[0]),
            )
            .because("a pre-sized one takes all its pages, some of which are never needed")
            .claim(
                Claim::more(format!(
                    "{engine}: times as long by talc as by dlmalloc: no benefit"
                )),
                slower("global, talc", "global", LISTS[0]),
            )
            .claim(
                Claim::times(
                    format!(
                        "{engine}: times as long by bumpalo as by bump-scope, each with its own Vec"
                    ),
                    2.0,
                ),
                slower("bumpalo", "bump-scope", LISTS[0]),
            )
            .claim(
                Claim::level(format!("{engine}: the same with the same Vec")),
                slower("bumpalo, same Vec", "bump-scope, same Vec", LISTS[0]),
            )
            .claim(
                Claim::more(format!(
                    "{engine}: times as long by compact_str as by String, {LONG}"
                )),
                ms(engine, &format!("compact_str, {LONG}"))
                    / ms(engine, &format!("String, {LONG}")),
            );
    }
    judged
}

/// The file that `examples/wasm/run --publish` writes.
const MEASURED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../wasm/measured.json");

#[derive(Deserialize)]
struct Measured {
    engines: Vec<Engine>,
}

#[derive(Deserialize)]
struct Engine {
    engine: String,
    inline_bytes: u32,
    rows: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    work: String,
    count: u32,
    /// The time of each round.
    ms: Vec<f64>,
    blocks: u32,
    pages: u32,
    grows: u32,
}

/// Notes the results of an engine; nothing if the engine was not there.
fn engine(window: &mut Window, name: &str) {
    let text = std::fs::read_to_string(MEASURED).unwrap_or_default();
    let measured: Measured = serde_json::from_str(&text).expect("the file is what was written");
    let engine = measured
        .engines
        .into_iter()
        .find(|engine| engine.engine == name);
    window.work(|| ());
    let Some(engine) = engine else { return };
    window.note("inline bytes of a small string", engine.inline_bytes.into());
    for mut row in engine.rows {
        row.ms.sort_by(f64::total_cmp);
        let median = row.ms.get(row.ms.len() / 2).copied().unwrap_or(f64::NAN);
        let mut note = |figure: &str, value: f64| {
            window.note(&format!("{}, {}, {figure}", row.work, row.count), value);
        };
        note("ms", (median * 10.0).round() / 10.0);
        if row.count == LISTS[0] {
            note("blocks", row.blocks.into());
            note("pages", row.pages.into());
            note("grows", row.grows.into());
        }
    }
}
