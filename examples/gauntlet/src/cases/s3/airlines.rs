//! 3.7: the airlines JSON, one document per line, read in every way that serde_json has.

use crate::cases::said::ms;
use crate::data::airlines::{LINES, Line, text};
use crate::{Case, Claim, Judged, Variant, Window};
use serde::Deserialize;
use serde_json::Value;
use std::io::{BufRead, BufReader};

/// The case.
pub(super) const CASE: Case = Case {
    id: "3.7",
    system: "airlines JSON by serde_json: Value, typed, &str, flatten, untagged, from_reader",
    headline: "serde_json builds intermediate Values before types. Reading the file takes 63 to 65 ms and 24.9 MB, of which 35,264 \
               blocks of 632 B are 89.46 % of bytes and 18.18 % of blocks; at most 19,173 B are live (17,917 B by the shares on its slide)",
    variants: &[
        Variant::new("value", value),
        Variant::new("value by BufRead", |window| {
            if window.is_counting() {
                let text = text(window.scaled(LINES));
                window.note("reader_and_text_bytes", reader_and_text_bytes(&text) as f64);
            }
            each_read(window, |line| drop(serde_json::from_str::<Value>(line)));
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
        // Everything that is neither a key nor a text is a leaf, and all leaves have one size.
        let texts = found.of("value", "text_bytes");
        let leaf_bytes = bytes - found.of("value", "key_bytes") - texts;
        let share = leaves * 632.0 / bytes;
        let holds = blocks == records * 44.0
            && leaf_bytes == leaves * 632.0
            && found.of("typed", "total_bytes") == texts
            && found.of("typed", "total_blocks") == records * 5.0
            && found.of("borrowed", "total_blocks") == 0.0
            && found.of(BY_READER, "peak_bytes")
                == 8.0 * 632.0 + found.of(BY_READER, "reader_and_text_bytes");
        let why = format!(
            "{:.0} blocks a line as Value, 8 of them leaves of 632 B ({:.2} % of bytes; the source 89.46 %); 5 typed, 0 \
             borrowed; flatten takes {:.1} times the typed bytes, untagged {:.1}, from_reader {:.1}; peak {:.0} B, the leaves of one line and its \
             strings, and {:.0} B read by a BufRead as the source does: its buffer and the line are live beside the value. Value takes {} (the source 63-65 ms)",
            blocks / records,
            share * 100.0,
            found.of("flatten", "total_bytes") / found.of("typed", "total_bytes"),
            found.of("untagged", "total_bytes") / found.of("typed", "total_bytes"),
            found.of("from_reader", "total_bytes") / found.of("typed", "total_bytes"),
            found.of("value", "peak_bytes"),
            found.of(BY_READER, "peak_bytes"),
            ms(found.of("value", "time_ns")),
        );
        Judged::facts(holds, why)
            .claim(
                Claim::count("leaves of 632 bytes", 35_264.0),
                if leaves >= 30_000.0 {
                    leaf_bytes / 632.0
                } else {
                    f64::NAN
                },
            )
            .claim(
                Claim::count("their share of all bytes", 0.8946).within(0.02),
                leaf_bytes / bytes,
            )
            .claim(
                Claim::count("their share of all blocks", 0.1818).within(0.01),
                leaf_bytes / 632.0 / blocks,
            )
            .claim(
                Claim::count("MB in total", 24.9).within(0.02),
                if leaves >= 30_000.0 {
                    bytes / 1e6
                } else {
                    f64::NAN
                },
            )
            .claim(
                Claim::more("times the blocks to read types as to read Values: Values come first"),
                found.of("typed", "total_blocks") / blocks,
            )
            .because("serde_json reads types straight from the text: one block for each String and no Value")
            .claim(
                Claim::count("bytes live at the peak", 0.0)
                    .between(17_917.0, 19_173.0)
                    .within(0.1),
                found.of(BY_READER, "peak_bytes"),
            )
            .because("what else is live in the source's program is not in its text")
    },
};

const BY_READER: &str = "value by BufRead";

fn value(window: &mut Window) {
    if window.is_counting() {
        let (mut keys, mut texts) = (0, 0);
        let lines = window.scaled(LINES);
        for line in text(lines).lines() {
            if let Ok(value) = serde_json::from_str(line) {
                lengths(&value, &mut keys, &mut texts);
            }
        }
        window.note("key_bytes", keys as f64);
        window.note("text_bytes", texts as f64);
    }
    each(window, |line| drop(serde_json::from_str::<Value>(line)));
}

/// Adds up the lengths of all keys and texts.
fn lengths(value: &Value, keys: &mut usize, texts: &mut usize) {
    match value {
        Value::String(text) => *texts += text.len(),
        Value::Array(values) => values.iter().for_each(|value| lengths(value, keys, texts)),
        Value::Object(map) => {
            for (key, value) in map {
                *keys += key.len();
                lengths(value, keys, texts);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Reads every line through a `BufRead` into its own `String`, as the source does, and keeps none.
pub(super) fn each_read(window: &mut Window, read: impl Fn(&str)) {
    let lines = window.scaled(LINES);
    let text = text(lines);
    window.input(text.len(), lines);
    window.work(|| {
        for line in BufReader::new(text.as_bytes()).lines() {
            read(&line.expect("a text has lines"));
        }
    });
}

/// Returns the most bytes that a `BufRead`, its current line, and the keys and texts of the line's
/// value hold together.
fn reader_and_text_bytes(text: &str) -> usize {
    let reader = BufReader::new(text.as_bytes());
    let buffer = reader.capacity();
    let held = |line: String| {
        let (mut keys, mut texts) = (0, 0);
        if let Ok(value) = serde_json::from_str(&line) {
            lengths(&value, &mut keys, &mut texts);
        }
        line.capacity() + keys + texts
    };
    let lines = reader.lines().map_while(Result::ok);
    buffer + lines.map(held).max().unwrap_or(0)
}

/// Reads every line and keeps none.
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
