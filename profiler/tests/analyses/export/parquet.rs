//! Tables of many recordings, read back with the crate that wrote them.

use std::collections::BTreeSet;

use ::parquet::file::reader::{FileReader, SerializedFileReader};
use ::parquet::record::{Field, Row};
use heapglass_profiler::export::parquet::{Labels, Table, Tables};

use super::*;

/// Returns the rows of each table of some profiles.
fn read(profiles: &[&Profile], labels: &Labels) -> HashMap<Table, Vec<Row>> {
    let mut tables = Tables::new(|_| tempfile::tempfile()).expect("files");
    for profile in profiles {
        tables.add(profile, labels).expect("rows");
    }
    let files = tables.finish().expect("files");
    let rows = files.map(|(table, file)| {
        let file = SerializedFileReader::new(file).expect("a file");
        let rows = file.get_row_iter(None).expect("rows");
        (table, rows.map(|row| row.expect("a row")).collect())
    });
    rows.into()
}

fn field<'a>(row: &'a Row, name: &str) -> &'a Field {
    let mut columns = row.get_column_iter();
    let found = columns.find(|(column, _)| *column == name);
    found.unwrap_or_else(|| panic!("no column {name}")).1
}

fn figure(row: &Row, name: &str) -> u64 {
    match field(row, name) {
        Field::Long(figure) => u64::try_from(*figure).expect("a figure"),
        other => panic!("{name}: {other}"),
    }
}

/// Returns the sums of the figures in the samples of a profile.
pub(super) fn totals(profile: &Profile) -> HashMap<String, u64> {
    let tables = read(&[profile], &Labels::default());
    let keys = tables::json_totals(profile, &options(Format::Json)).into_keys();
    let sum = |table: Table, key: &str| tables[&table].iter().map(|row| figure(row, key)).sum();
    keys.map(|key| {
        let samples: u64 = sum(Table::Samples, &key);
        assert_eq!(samples, sum(Table::Phases, &key), "{key} of phases");
        assert_eq!(samples, sum(Table::Recordings, &key), "{key} of recordings");
        (key, samples)
    })
    .collect()
}

/// Returns the names of all columns of the tables.
fn columns(tables: &HashMap<Table, Vec<Row>>) -> BTreeSet<String> {
    let rows = tables.values().filter_map(|rows| rows.first());
    rows.flat_map(|row| row.get_column_iter().map(|(name, _)| name.clone()))
        .collect()
}

#[test]
fn samples_are_the_rows_of_the_report_with_trimmed_frames() {
    for profile in profiles() {
        let options = ReportOptions {
            frames: Frames::Trimmed,
            ..options(Format::Json)
        };
        let report = json(&profile, Format::Json, &options);
        let tables = read(&[&profile], &Labels::default());
        let samples = &tables[&Table::Samples];
        let rows = report["rows"].as_array().unwrap();
        assert_eq!(samples.len(), rows.len());
        for (sample, row) in samples.iter().zip(rows) {
            for key in ["owner", "function", "phase", "field", "type"] {
                let text = match field(sample, key) {
                    Field::Null => Value::Null,
                    Field::Str(text) => text.as_str().into(),
                    other => panic!("{key}: {other}"),
                };
                assert_eq!(text, row[key], "{key}");
            }
            for key in ["total_bytes", "peak_bytes", "live_blocks"] {
                assert_eq!(Some(figure(sample, key)), row[key].as_u64(), "{key}");
                assert_eq!(*field(sample, &format!("{key}_low")), Field::Null);
            }
        }
    }
}

#[test]
fn every_figure_has_columns_for_its_interval() {
    let mut profile = shop();
    let parts = profile.parts();
    parts.capture.mode = "sample".into();
    let tables = read(&[&profile], &Labels::default());
    let recording = &tables[&Table::Recordings][0];
    assert_eq!(*field(recording, "exact"), Field::Bool(false));
    let names = columns(&tables);
    for key in tables::json_totals(&profile, &options(Format::Json)).keys() {
        for end in ["", "_low", "_high"] {
            assert!(names.contains(&format!("{key}{end}")), "{key}{end}");
        }
    }
}

#[test]
fn stacks_have_the_innermost_frame_first_and_no_line_that_only_some_have() {
    let mut b = Builder::new();
    let main = b.function("app::main", "app", Origin::User);
    let push = b.function("alloc::vec::Vec::push", "alloc", Origin::Std);
    let frames = [3, 9].map(|line| b.frame(main, Some("/src/main.rs"), line));
    let push = b.frame(push, Some("/rustc/0123/library/alloc/src/vec/mod.rs"), 99);
    for frame in frames {
        b.site(&[frame, push], ScopeId(0), figures(1, 8, 1));
    }
    let profile = b.build();
    let tables = read(&[&profile], &Labels::default());
    assert_eq!(tables[&Table::Samples].len(), 2);
    let [stack] = tables[&Table::Stacks].as_slice() else {
        panic!("one stack");
    };
    // The first eight bytes of the SHA-256 of these four lines.
    let hash = {
        use sha2::{Digest, Sha256};
        let text = "alloc::vec::Vec::push\nlibrary/alloc/src/vec/mod.rs\napp::main\nsrc/main.rs\n";
        let hash = Sha256::digest(text);
        i64::from_be_bytes(hash[..8].try_into().expect("eight bytes"))
    };
    assert_eq!(*field(stack, "stack_hash"), Field::Long(hash), "{stack}");
    for sample in &tables[&Table::Samples] {
        assert_eq!(*field(sample, "stack_hash"), Field::Long(hash));
    }
    let Field::ListInternal(locations) = field(stack, "locations") else {
        panic!("a list: {stack}");
    };
    let locations: Vec<&Row> = locations
        .elements()
        .iter()
        .map(|location| match location {
            Field::Group(row) => row,
            other => panic!("{other}"),
        })
        .collect();
    let lines = locations.iter().map(|row| field(row, "line").clone());
    assert_eq!(
        lines.collect::<Vec<_>>(),
        [Field::Long(99), Field::Null],
        "{stack}"
    );
}

#[test]
fn labels_are_columns_and_nothing_is_there_twice() {
    let given = [
        ("service", "api"),
        ("host", "web-1"),
        ("version", "1.2"),
        ("git_revision", "abc"),
        ("region", "eu"),
    ];
    let labels = Labels::new(given.map(|(name, value)| (name.into(), value.into()))).unwrap();
    let tables = read(&[&shop(), &fixture::profile()], &labels);
    for (table, rows) in &tables {
        for row in rows {
            for (name, value) in &given[..4] {
                assert_eq!(*field(row, name), Field::Str((*value).into()), "{table:?}");
            }
        }
    }
    let recordings = &tables[&Table::Recordings];
    assert_eq!(recordings.len(), 2);
    assert_eq!(
        *field(&recordings[0], "started_at"),
        Field::TimestampMicros(1_790_000_000_000_000)
    );
    assert_eq!(
        *field(&recordings[0], "build_id"),
        Field::Str("5b9f0e".into())
    );
    let labels = format!("{}", field(&recordings[0], "labels"));
    assert!(labels.contains("\"region\" -> \"eu\""), "{labels}");
    let notes = format!("{}", field(&recordings[0], "notes"));
    assert!(notes.contains("exact to within 32.0 KiB"), "{notes}");
    let stacks: Vec<_> = tables[&Table::Stacks]
        .iter()
        .map(|row| (format!("{}", field(row, "recording")), figure_of_hash(row)))
        .collect();
    assert_eq!(stacks.iter().collect::<BTreeSet<_>>().len(), stacks.len());
}

fn figure_of_hash(row: &Row) -> i64 {
    match field(row, "stack_hash") {
        Field::Long(hash) => *hash,
        other => panic!("{other}"),
    }
}

#[test]
fn no_control_character_of_a_recorded_name_gets_into_a_table() {
    let mut profile = named(EVIL);
    profile.parts().capture.mode = EVIL.into();
    let labels = Labels::new([("region".to_owned(), EVIL.to_owned())]).unwrap();
    for rows in read(&[&profile], &labels).values() {
        for row in rows {
            let text = row.to_string();
            assert!(
                !text.contains(|c: char| c.is_control() || c == '\u{202e}'),
                "{text:?}"
            );
        }
    }
}

#[test]
fn the_guide_explains_every_column() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/src/fleet.md");
    let page = std::fs::read_to_string(page).expect("the guide");
    let tables = read(&[&shop()], &Labels::default());
    let names = columns(&tables);
    let columns = names.iter().filter(|name| {
        let ends = ["_low", "_high"];
        !ends.iter().any(|end| name.ends_with(end)) && !name.starts_with("with_inner_")
    });
    for column in columns {
        assert!(page.contains(&format!("`{column}`")), "{column}");
    }
}
