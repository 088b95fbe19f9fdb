//! 3.7: the airlines JSON, one document a line, by every way serde_json has.

use crate::gauntlet::data::airlines::{LINES, Line, text};
use crate::gauntlet::{Case, Variant, Verdict, Window};
use serde::Deserialize;
use serde_json::Value;

/// The case.
pub(super) const CASE: Case = Case {
    id: "3.7",
    system: "airlines JSON by serde_json: Value, typed, &str, flatten, untagged, from_reader",
    headline: "63-65 ms, 24.9 MB; 35,264 blocks of 632 B = 22,286,848 B, 89.46 % of bytes; t-gmax 17,917 B",
    variants: &[
        Variant::new("value", |window| {
            each(window, |line| drop(serde_json::from_str::<Value>(line)))
        }),
        Variant::new("typed", |window| {
            each(window, |line| {
                drop(serde_json::from_str::<Line<String>>(line))
            })
        }),
        Variant::new("borrowed", |window| {
            each(window, |line| {
                drop(serde_json::from_str::<Line<&str>>(line))
            })
        }),
        Variant::new("flatten", |window| {
            each(window, |line| drop(serde_json::from_str::<Flat>(line)))
        }),
        Variant::new("untagged", |window| {
            each(window, |line| drop(serde_json::from_str::<Either>(line)))
        }),
        Variant::new("from_reader", |window| {
            each(window, |line| {
                drop(serde_json::from_reader::<_, Line<String>>(line.as_bytes()))
            });
        }),
    ],
    judge: |found| {
        let records = found.of("value", "records");
        let leaves = records * 8.0;
        let (blocks, bytes) = (
            found.of("value", "total_blocks"),
            found.of("value", "total_bytes"),
        );
        let share = leaves * 632.0 / bytes;
        let holds = blocks == records * 44.0
            && found.of("typed", "total_blocks") == records * 5.0
            && found.of("borrowed", "total_blocks") == 0.0;
        let why = format!(
            "{:.0} blocks a line as Value, 8 of them leaves of 632 B ({:.2} % of bytes; the source 89.46 %); 5 typed, 0 \
             borrowed; flatten takes {:.1} times the typed bytes, untagged {:.1}, from_reader {:.1} (the source's file: about 12, 12 \
             and 3.5: its strings are longer, so buffering weighs less); peak {:.0} B, the leaves of one line and its \
             strings: the source's 17,917 B hold what its reader reads into as well",
            blocks / records,
            share * 100.0,
            found.of("flatten", "total_bytes") / found.of("typed", "total_bytes"),
            found.of("untagged", "total_bytes") / found.of("typed", "total_bytes"),
            found.of("from_reader", "total_bytes") / found.of("typed", "total_bytes"),
            found.of("value", "peak_bytes"),
        );
        (
            if holds {
                Verdict::Sharpened
            } else {
                Verdict::NotReproduced
            },
            why,
        )
    },
};

/// Reads every line and keeps none, as the source does.
pub(super) fn each(window: &mut Window, read: impl Fn(&str)) {
    let lines = window.scaled(LINES);
    let text = text(lines);
    window.input(text.len(), lines);
    window.work(|| text.lines().for_each(&read));
}

#[derive(Deserialize)]
struct Flat {
    #[serde(flatten)]
    _line: Line<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Either {
    Line(#[expect(dead_code, reason = "only read into")] Line<String>),
}
