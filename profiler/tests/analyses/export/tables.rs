//! Folded stacks, the report's JSON and tables.

use super::*;
use heapglass_profiler::profile::Measure;
use heapglass_profiler::table::snapshot_at;

pub(super) fn folded_totals(
    profile: &Profile,
    options: &ReportOptions<'_>,
) -> HashMap<String, u64> {
    let text = text(profile, Format::Folded, options);
    let figure = |line: &str| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap();
    let sum = text.lines().map(figure).sum();
    HashMap::from([(options.measure.key().to_owned(), sum)])
}

pub(super) fn json_totals(profile: &Profile, options: &ReportOptions<'_>) -> HashMap<String, u64> {
    let made = json(profile, Format::Json, options);
    let totals = made["totals"].as_object().unwrap().iter();
    totals
        .map(|(key, figure)| (key.clone(), figure.as_u64().unwrap()))
        .collect()
}

fn records(profile: &Profile, options: &ReportOptions<'_>) -> Vec<HashMap<String, String>> {
    let bytes = bytes(profile, Format::Csv, options);
    let mut table = ::csv::Reader::from_reader(&bytes[..]);
    table.deserialize().map(Result::unwrap).collect()
}

pub(super) fn csv_totals(profile: &Profile, options: &ReportOptions<'_>) -> HashMap<String, u64> {
    let records = records(profile, options);
    let keys = json_totals(profile, options).into_keys();
    let sum = |key: &str| records.iter().map(|r| r[key].parse::<u64>().unwrap()).sum();
    keys.map(|key| (key.clone(), sum(&key))).collect()
}

#[test]
fn the_shop_as_folded_stacks() {
    let options = ReportOptions {
        measure: Measure::Total,
        ..options(Format::Folded)
    };
    golden("folded", &text(&shop(), Format::Folded, &options));
}

#[test]
fn a_semicolon_in_a_name_separates_no_frames() {
    let folded = text(&shop(), Format::Folded, &options(Format::Folded));
    let line = folded.lines().find(|line| line.contains("[u8: 32]"));
    assert_eq!(
        line.expect("the function").split(';').count(),
        4,
        "{folded}"
    );
}

#[test]
fn the_shop_as_tables() {
    let table = |by| {
        let options = ReportOptions {
            by,
            ..options(Format::Csv)
        };
        text(&shop(), Format::Csv, &options)
    };
    let by = [By::Site, By::Type, By::Field, By::Phase, By::Function];
    golden("csv", &by.map(table).join("\n"));
}

#[test]
fn tables_have_the_rows_of_the_report_and_a_cell_in_every_column() {
    for profile in profiles() {
        for by in By::COUNTED {
            let options = ReportOptions {
                by,
                ..options(Format::Csv)
            };
            let records = records(&profile, &options);
            let report = json(&profile, Format::Json, &options);
            let rows = report["rows"].as_array().unwrap();
            assert_eq!(records.len(), rows.len(), "{by:?}");
            for (record, row) in records.iter().zip(rows) {
                // The table escapes control characters, and JSON does too; the samples contain
                // none.
                assert_eq!(record["key"], row["key"].as_str().unwrap());
                let figure = record["total_bytes"].parse::<u64>().unwrap();
                if by != By::Arena {
                    assert_eq!(Some(figure), row["total_bytes"].as_u64());
                }
            }
        }
    }
}

#[test]
fn the_json_is_that_of_the_report() {
    let options = ReportOptions {
        by: By::Type,
        measure: Measure::Total,
        recording: Some("shop.hg"),
        ..options(Format::Json)
    };
    let mut expected = Vec::new();
    heapglass_profiler::report::write_json(&shop(), &options, &mut expected).unwrap();
    assert_eq!(bytes(&shop(), Format::Json, &options), expected);
    golden("json", &String::from_utf8(expected).unwrap());
}

#[test]
fn holders_of_a_snapshot_are_exported_to_the_byte() {
    let profile = fixture::with_made_up_snapshots();
    let at = snapshot_at(&profile, None).expect("a snapshot");
    for measure in Measure::OF_SNAPSHOTS {
        let written = |format: Format| {
            let mut out = Vec::new();
            let options = ReportOptions {
                by: By::Holder,
                measure,
                snapshot: Some(at),
                ..ReportOptions::default()
            };
            write(&profile, format, &options, &mut out).expect("an export");
            String::from_utf8(out).expect("text")
        };
        let folded = written(Format::Folded);
        let own = folded.lines().map(|line| {
            let (_, bytes) = line.rsplit_once(' ').expect("a figure");
            bytes.parse::<u64>().expect("a number")
        });
        assert_eq!(own.sum::<u64>(), at.whole(measure));
        assert!(
            folded.contains("stack of main;Catalog;.products[];.name"),
            "{folded}"
        );
        let table = written(Format::Csv);
        let mut rows = csv::Reader::from_reader(table.as_bytes());
        let own = rows
            .records()
            .map(|row| row.expect("a row")[4].parse::<u64>().expect("a number"));
        assert_eq!(own.sum::<u64>(), at.whole(Measure::Retained));
    }
}

#[test]
fn a_table_has_the_figures_of_a_snapshot_where_they_order_its_rows() {
    let profile = fixture::with_made_up_snapshots();
    let at = snapshot_at(&profile, None).expect("a snapshot");
    let options = ReportOptions {
        by: By::Phase,
        snapshot: Some(at),
        measure: Measure::Unused,
        ..ReportOptions::default()
    };
    let mut out = Vec::new();
    write(&profile, Format::Csv, &options, &mut out).expect("an export");
    let mut rows = csv::Reader::from_reader(out.as_slice());
    let titles = rows.headers().expect("titles").clone();
    assert_eq!(
        titles
            .iter()
            .filter(|title| *title == "retained_bytes")
            .count(),
        1
    );
    let row = rows.records().next().expect("a row").expect("a row");
    let column = titles
        .iter()
        .position(|title| title == "unused_bytes")
        .expect("a column");
    assert_eq!(row[column], at.whole(Measure::Unused).to_string());
}
