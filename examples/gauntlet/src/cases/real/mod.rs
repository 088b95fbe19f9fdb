//! Real files, which are fetched. Each is read into a `Value`, into types where they are easy to
//! write, borrowed, and into an arena. No source has figures for them. The cases show the peak
//! bytes of heap per byte of input.

mod arena;
mod borrowed;
mod geo;
mod gsoc;
mod twitter;

use crate::data::fetched;
use crate::{Case, Found, Judged, Variant, Window};
use serde::Deserialize;
use serde_json::Value;

const NO_SOURCE: &str = "none: a real file, in no source";

/// All cases, in the order of file size.
pub(crate) const CASES: &[Case] = &[
    Case {
        id: "d.1",
        system: "twitter.json: Value, typed, borrowed, arena",
        headline: NO_SOURCE,
        variants: &[
            Variant::new("value", |window| owned::<Value>(window, "twitter")),
            Variant::new("typed", |window| {
                owned::<twitter::Timeline>(window, "twitter")
            }),
            Variant::new("borrowed", |window| borrowed(window, "twitter")),
            Variant::new("arena", |window| arena(window, "twitter")),
        ],
        judge,
    },
    Case {
        id: "d.2",
        system: "citm_catalog.json: Value, borrowed, arena",
        headline: NO_SOURCE,
        variants: &[
            Variant::new("value", |window| owned::<Value>(window, "citm_catalog")),
            Variant::new("borrowed", |window| borrowed(window, "citm_catalog")),
            Variant::new("arena", |window| arena(window, "citm_catalog")),
        ],
        judge,
    },
    Case {
        id: "d.3",
        system: "canada.json: Value, typed, borrowed, arena",
        headline: NO_SOURCE,
        variants: &[
            Variant::new("value", |window| owned::<Value>(window, "canada")),
            Variant::new("typed", |window| owned::<geo::Country>(window, "canada")),
            Variant::new("borrowed", |window| borrowed(window, "canada")),
            Variant::new("arena", |window| arena(window, "canada")),
        ],
        judge,
    },
    Case {
        id: "d.4",
        system: "gsoc-2018.json: Value, typed, borrowed, arena",
        headline: NO_SOURCE,
        variants: &[
            Variant::new("value", |window| owned::<Value>(window, "gsoc-2018")),
            Variant::new("typed", |window| {
                owned::<gsoc::Projects>(window, "gsoc-2018")
            }),
            Variant::new("borrowed", |window| borrowed(window, "gsoc-2018")),
            Variant::new("arena", |window| arena(window, "gsoc-2018")),
        ],
        judge,
    },
    Case {
        id: "d.5",
        system: "sf_citylots.json, 190 MB: Value, typed, borrowed, arena",
        headline: NO_SOURCE,
        variants: &[
            Variant::new("value", |window| owned::<Value>(window, "sf_citylots")),
            Variant::new("typed", |window| owned::<geo::City>(window, "sf_citylots")),
            Variant::new("borrowed", |window| borrowed(window, "sf_citylots")),
            Variant::new("arena", |window| arena(window, "sf_citylots")),
        ],
        judge,
    },
];

/// Reports what each way needs per byte of input. The file is not scaled, because a part of it
/// would be another file.
fn judge(found: &Found<'_>) -> Judged {
    let ways = ["value", "typed", "borrowed", "arena"]
        .iter()
        .filter_map(|way| {
            let peak = found.of(way, "peak_bytes") / found.of(way, "input_bytes");
            let blocks = found.of(way, "total_blocks");
            peak.is_finite()
                .then(|| format!("{way} {peak:.2} ({blocks:.0} blocks)"))
        });
    let ways: Vec<String> = ways.collect();
    let none = "nothing was counted".to_owned();
    let why = if ways.is_empty() {
        none
    } else {
        format!(
            "bytes of heap at the peak for a byte of input: {}",
            ways.join(", ")
        )
    };
    Judged::unjudged(true, "no source has figures of these files", why)
}

/// Reads into a type that owns its data.
fn owned<T: for<'de> Deserialize<'de>>(window: &mut Window, file: &str) {
    let text = fetched::read(file);
    window.input(text.len(), 1);
    window.work(|| serde_json::from_str::<T>(&text).expect("the checked file is of this type"));
}

/// Reads into a tree that borrows the strings without escapes.
fn borrowed(window: &mut Window, file: &str) {
    let text = fetched::read(file);
    window.input(text.len(), 1);
    window.work(|| {
        serde_json::from_str::<borrowed::Node<'_>>(&text).expect("the checked file is JSON")
    });
}

/// Reads into a tree in an arena.
fn arena(window: &mut Window, file: &str) {
    let text = fetched::read(file);
    window.input(text.len(), 1);
    window.work(|| arena::read(&text));
}
