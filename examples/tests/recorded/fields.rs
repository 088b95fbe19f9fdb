//! `Profiled<T>` on data of every feature, in every format: the same allocations as without it,
//! each at its place.
//!
//! `tests/golden/fields.txt` lists every place of every feature. It is the full version of the
//! table in the documentation of `Profiled`.

use crate::common::places::{Places, at, total};
use crate::common::{Target, assert_consistent};
use heapglass_examples::recorded;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::sync::OnceLock;
use tracking_alloc_recording::{Recording, scope_flags};

/// The features that formats do not support, with their errors. They cannot be read, bare or
/// profiled.
const LEFT_OUT: &[(&str, &str, &str)] = &[
    (
        "adjacently tagged",
        "bincode",
        "Serde(IdentifierNotSupported)",
    ),
    (
        "adjacently tagged",
        "postcard",
        "This is a feature that PostCard will never implement",
    ),
    // The array of a unit variant lacks its content.
    (
        "adjacently tagged",
        "rmp-array",
        "invalid length 1, expected adjacently tagged enum AdjacentShape",
    ),
    // Lists of numbers cannot be borrowed from; see "borrowed bytes of text".
    (
        "borrowed bytes",
        "json",
        "invalid type: sequence, expected a borrowed byte array at line 1 column 10",
    ),
    (
        "borrowed bytes",
        "toml",
        "TOML parse error at line 1, column 9",
    ),
    (
        "borrowed bytes",
        "yaml",
        "serialization and deserialization of bytes in YAML is not implemented",
    ),
    // These formats cannot express that a field is missing.
    ("default", "bincode", "UnexpectedEnd { additional: 1 }"),
    (
        "default",
        "postcard",
        "Hit the end of buffer, expected more data",
    ),
    // The number of entries comes first, and it is unknown with flattened fields.
    ("flatten map", "bincode", "Serde(SequenceMustHaveLength)"),
    (
        "flatten map",
        "postcard",
        "The length of a sequence must be known",
    ),
    ("flatten struct", "bincode", "Serde(SequenceMustHaveLength)"),
    (
        "flatten struct",
        "postcard",
        "The length of a sequence must be known",
    ),
    // These formats do not describe themselves, so `deserialize_any` is an error.
    ("internally tagged", "bincode", "Serde(AnyNotSupported)"),
    (
        "internally tagged",
        "postcard",
        "This is a feature that PostCard will never implement",
    ),
    ("unit", "toml", "unsupported unit type"),
    (
        "unknown fields",
        "rmp-array",
        "array had incorrect length, expected 1",
    ),
    ("untagged", "bincode", "Serde(AnyNotSupported)"),
    (
        "untagged",
        "postcard",
        "This is a feature that PostCard will never implement",
    ),
    // Both variants are arrays of one element in this format, and the first one needs two
    // elements.
    (
        "untagged",
        "rmp-array",
        "data did not match any variant of untagged enum UntaggedShape",
    ),
    ("value", "bincode", "Serde(AnyNotSupported)"),
    (
        "value",
        "postcard",
        "This is a feature that PostCard will never implement",
    ),
];

/// The program's output for one feature in one format.
struct Line {
    format: String,
    feature: String,
    /// Bare and profiled: total bytes, total blocks, freed bytes, freed blocks. Or the error.
    outcome: Result<[Vec<u64>; 2], String>,
}

/// Runs the program once for all tests.
fn features() -> &'static (Vec<Line>, Recording) {
    static RUN: OnceLock<(Vec<Line>, Recording)> = OnceLock::new();
    RUN.get_or_init(|| {
        let mut target = Target::new(env!("CARGO_BIN_EXE_fields"), &["features"]);
        let printed = target.succeed();
        let recording = recorded::open(&target.recording());
        (printed.lines().filter_map(line).collect(), recording)
    })
}

fn line(line: &str) -> Option<Line> {
    let words: Vec<&str> = line.split('\t').collect();
    // Further lines of a format's error.
    let [format, feature, first, second] = words[..] else {
        return None;
    };
    let numbers = |text: &str| -> Vec<u64> {
        let parse = |word: &str| word.parse().expect("a number");
        text.split(' ').map(parse).collect()
    };
    let outcome = if first.starts_with("not ") {
        Err(second.to_owned())
    } else {
        Ok([numbers(first), numbers(second)])
    };
    Some(Line {
        format: format.to_owned(),
        feature: feature.to_owned(),
        outcome,
    })
}

#[test]
fn profiled_allocates_what_bare_does_and_its_places_sum_to_it() {
    let (lines, recording) = features();
    assert!(lines.len() > 250, "{} lines", lines.len());
    assert_consistent(recording);
    assert_eq!(recording.header.lost_scopes, 0);
    let places = Places::of(recording);
    for line in lines {
        let Ok([bare, profiled]) = &line.outcome else {
            continue;
        };
        let name = format!("{}/{}", line.format, line.feature);
        assert_eq!(bare, profiled, "{name}: bare (left) and profiled (right)");
        let within = places.within(places.phase(&name));
        let sums = total(&within);
        let mut found = vec![
            sums.total_bytes,
            sums.total_blocks,
            sums.freed_bytes,
            sums.freed_blocks,
        ];
        if line.feature == "in place" {
            // Frees count where their blocks were allocated: earlier, in no phase.
            assert_eq!(found[2..], [0, 0], "{name}");
            found[2..].copy_from_slice(&profiled[2..]);
        }
        assert_eq!(
            found, *profiled,
            "{name}: the sum over scopes (left) and measured (right)"
        );
        let live = profiled[0] as i64 - profiled[2] as i64;
        assert_eq!(
            within[0].stayed_bytes, live,
            "{name}: what stays of the phase"
        );
        // These formats have memory of their own around the value: parsed in advance, or a buffer
        // for texts.
        let around = ["toml", "yaml", "json-reader"].contains(&line.format.as_str());
        if !around && line.feature != "raw value" {
            assert_eq!(
                within[1].stayed_bytes, live,
                "{name}: what stays of the root"
            );
            assert_eq!(
                within[0].own.total_bytes, 0,
                "{name}: nothing outside the root"
            );
        }
    }
}

#[test]
fn what_a_format_cannot_do_fails_in_the_same_words_and_all_else_works() {
    let (lines, _) = features();
    let mut failed: Vec<(&str, &str, &str)> = lines
        .iter()
        .filter_map(|line| {
            let error = line.outcome.as_ref().err()?;
            Some((line.feature.as_str(), line.format.as_str(), error.as_str()))
        })
        .collect();
    failed.sort_unstable();
    assert_eq!(failed, LEFT_OUT);
}

/// Lists the places of each feature. Formats with the same list are grouped.
fn listed() -> String {
    let (lines, recording) = features();
    let places = Places::of(recording);
    let mut features: Vec<(&str, BTreeMap<String, Vec<&str>>)> = Vec::new();
    for line in lines.iter().filter(|line| line.outcome.is_ok()) {
        let within = places.within(places.phase(&format!("{}/{}", line.format, line.feature)));
        let mut list = Vec::new();
        for place in &within[1..] {
            let mut flags = String::new();
            for (flag, name) in [
                (scope_flags::RECURSIVE, ", recursive"),
                (scope_flags::FOLDED, ", folded"),
                (scope_flags::CUT_NAME, ", cut"),
            ] {
                if place.flags & flag != 0 {
                    flags += name;
                }
            }
            let values = match place.values {
                0 => String::new(),
                values => format!(" x{values}"),
            };
            list.push(format!(
                "    {}{values}: {}{flags}\n",
                place.path, place.type_name
            ));
        }
        // Sorted, because formats bring the fields in different orders.
        list.sort();
        let list = list.concat();
        let index = match features
            .iter()
            .position(|(feature, _)| *feature == line.feature)
        {
            Some(index) => index,
            None => {
                features.push((&line.feature, BTreeMap::new()));
                features.len() - 1
            }
        };
        features[index]
            .1
            .entry(list)
            .or_default()
            .push(&line.format);
    }
    let mut text = String::new();
    for (feature, lists) in features {
        let _ = writeln!(text, "{feature}");
        for (list, formats) in lists {
            let _ = write!(text, "  {}\n{list}", formats.join(", "));
        }
    }
    text
}

#[test]
fn every_place_of_every_feature_is_where_the_table_says() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/fields.txt");
    let listed = listed();
    if std::env::var_os("HEAPGLASS_BLESS").is_some() {
        std::fs::create_dir_all(golden.parent().expect("a folder")).expect("a folder");
        std::fs::write(&golden, &listed).expect("the golden file is written");
    }
    let known = std::fs::read_to_string(&golden).unwrap_or_default();
    let difference = known
        .lines()
        .zip(listed.lines())
        .find(|(known, listed)| known != listed);
    assert!(
        known == listed,
        "first difference: {difference:?}; if the new places are right, refresh {} with `cargo bless`",
        golden.display()
    );
}

#[test]
fn the_bytes_of_each_place_are_those_of_its_values() {
    let (_, recording) = features();
    let places = Places::of(recording);
    let own = |phase: &str, path: &str| {
        let within = places.within(places.phase(phase));
        let own = at(&within, path).own;
        (own.total_bytes, own.total_blocks, own.live_bytes())
    };
    let string = size_of::<String>() as u64;
    // A list of two elements grows to four places without a size hint. With a hint, it has two from
    // the start.
    assert_eq!(
        own("json/struct", "Person.tags"),
        (4 * string, 1, 4 * string as i64)
    );
    assert_eq!(
        own("postcard/struct", "Person.tags"),
        (2 * string, 1, 2 * string as i64)
    );
    for format in [
        "json",
        "postcard",
        "bincode",
        "rmp-array",
        "rmp-named",
        "toml",
    ] {
        let own = |feature: &str, path: &str| own(&format!("{format}/{feature}"), path);
        // `Person::new("Grace")` is a cook and navigator.
        assert_eq!(own("struct", "Person.name"), (5, 1, 5), "{format}");
        assert_eq!(own("struct", "Person.tags[]"), (13, 2, 13), "{format}");
        assert_eq!(own("struct", "Person"), (0, 0, 0), "{format}");
        assert_eq!(own("option", "Options.some"), (9, 1, 9), "{format}");
        assert_eq!(own("option", "Options.person.name"), (7, 1, 7), "{format}");
        // A box of a person: its block belongs to the pointer's place.
        assert_eq!(own("option", "Options.person"), (56, 1, 56), "{format}");
        assert_eq!(own("map", "Maps.lists{key}"), (2, 2, 2), "{format}");
        assert_eq!(own("map", "Maps.lists{value}[]"), (2, 2, 2), "{format}");
        assert_eq!(own("map", "Maps.people{value}.name"), (4, 1, 4), "{format}");
        assert_eq!(own("map", "Maps.counts{key}"), (10, 2, 10), "{format}");
        assert_eq!(own("array", "Arrays.names[]"), (12, 3, 12), "{format}");
    }
    // The reader's own scratch buffer counts at the place that was being read.
    assert_eq!(own("json-reader/struct", "Person.tags[]").2, 13);
}
