//! Columns of rows made by hand.

use super::*;
use crate::profile::{Function, FunctionId, State};

fn row(detail: Detail) -> Row {
    Row {
        key: "key".to_owned(),
        figures: Figures::default(),
        detail,
    }
}

fn titles(by: By, rows: &[Row]) -> Vec<&'static str> {
    let columns = columns(by, (Measure::Total, State::Finished), 0, 1_000, rows);
    let measures = Measure::COUNTED.map(Measure::name);
    let titles = columns
        .iter()
        .map(|column| column.heading.title())
        .filter(|title| *title != "share");
    titles.filter(|title| !measures.contains(title)).collect()
}

fn cells(by: By, row: Row) -> Vec<String> {
    let rows = [row];
    let columns = columns(by, (Measure::Total, State::Finished), 0, 1_000, &rows);
    let special = columns
        .iter()
        .filter(|column| titles(by, &rows).contains(&column.heading.title()));
    special.map(|column| column.cell(&rows[0])).collect()
}

#[test]
fn a_column_has_room_for_its_title_with_the_mark_of_estimates() {
    let of_measures = Measure::COUNTED.map(|measure| {
        let heading = Heading::of(measure);
        [
            heading,
            Heading::own(measure),
            Heading::inclusive(measure),
            Heading::blocks_of(measure),
        ]
    });
    let others = [
        Heading::MEAN_BLOCK,
        Heading::STAYED,
        Heading::FREED,
        Heading::GROWN,
        Heading::GROWN_BLOCKS,
        Heading::GROWN_RATE,
        Heading::ALLOCATED_RATE,
        Heading::ALLOCATED_BLOCKS_RATE,
        Heading::TOTAL_PER_BYTE,
        Heading::TOTAL_PER_RECORD,
        Heading::ENTERED,
    ];
    for heading in of_measures.into_iter().flatten().chain(others) {
        let title = heading.title_of(true);
        assert!(title.len() <= heading.width(), "{title}");
    }
}

#[test]
fn phases_have_the_columns_that_one_of_them_has_figures_for() {
    let phase = |detail: PhaseDetail| row(Detail::Phase(Box::new(detail)));
    let said_nothing = || phase(PhaseDetail::default());
    assert_eq!(titles(By::Phase, &[said_nothing()]), [""; 0]);
    let stayed = phase(PhaseDetail {
        stayed_bytes: Some(-10),
        ..PhaseDetail::default()
    });
    assert_eq!(
        titles(By::Phase, &[said_nothing(), stayed.clone()]),
        ["stayed"]
    );
    assert_eq!(cells(By::Phase, stayed), ["-10 B"]);
    let detail = PhaseDetail {
        with_inner: Figures {
            total_bytes: 1_000,
            total_blocks: 2,
            peak_bytes: 500,
            ..Figures::default()
        },
        input_bytes: 100,
        stayed_bytes: Some(250),
        net_bytes: Some(250),
        ..PhaseDetail::default()
    };
    let with_input = phase(detail.clone());
    let of_input = ["stayed", "total/in", "stayed/in", "peak/in"];
    assert_eq!(
        titles(By::Phase, &[said_nothing(), with_input.clone()]),
        of_input
    );
    assert_eq!(
        cells(By::Phase, with_input),
        ["250 B", "10.00", "2.50", "5.00"]
    );
    let with_records = phase(PhaseDetail {
        input_bytes: 0,
        records: 4,
        ..detail.clone()
    });
    let of_records = [
        "stayed",
        "total/rec",
        "stayed/rec",
        "peak/rec",
        "blocks/rec",
    ];
    assert_eq!(
        titles(By::Phase, &[said_nothing(), with_records.clone()]),
        of_records
    );
    let timed = phase(PhaseDetail {
        elapsed_ns: Some(2_000_000_000),
        records: 4,
        ..detail
    });
    let speeds = ["time", "in/s", "rec/s"];
    assert_eq!(
        titles(By::Phase, std::slice::from_ref(&timed))[1..4],
        speeds
    );
    assert_eq!(cells(By::Phase, timed)[1..4], ["2.00 s", "50 B/s", "2.0"]);
    assert_eq!(
        cells(By::Phase, with_records),
        ["250 B", "250 B", "62.5 B", "125 B", "0.50"]
    );
}

#[test]
fn types_without_values_or_blocks_have_no_figures_of_them() {
    let detail = TypeDetail {
        values: 3,
        inline_bytes: 72,
        mean_block_bytes: Some(40),
        dominant_block: None,
        full_name: None,
        note: None,
        slack: None,
        held: None,
        estimated: None,
        from: None,
        fields: Vec::new(),
        owners: Vec::new(),
    };
    let of = |mean_block_bytes: Option<u64>, values: u64| {
        let row = row(Detail::Type(Box::new(TypeDetail {
            values,
            mean_block_bytes,
            ..detail.clone()
        })));
        cells(By::Type, row)
    };
    assert_eq!(of(Some(40), 3), ["3", "72 B", "40 B"]);
    assert_eq!(of(None, 3), ["3", "72 B", "-"]);
    assert_eq!(
        of(Some(40), 0),
        ["40 B"],
        "no columns for values nobody saw"
    );
    assert_eq!(cells(By::Type, row(Detail::Code { sites: 1 })), ["-"]);
}

#[test]
fn bytes_for_one_have_a_decimal_below_a_hundred() {
    let told = [0.04, 99.94, -99.94, 100.0, -100.0, 2_048.4].map(bytes_each);
    assert_eq!(
        told,
        ["0.0 B", "99.9 B", "-99.9 B", "100 B", "-100 B", "2.0 KiB"]
    );
}

#[test]
fn functions_without_a_name_are_called_so() {
    let profile = Profile {
        functions: vec![
            Function {
                name: "app::main".into(),
                ..Function::default()
            },
            Function::default(),
        ],
        ..Profile::default()
    };
    let names = [0, 1, 2].map(|id| profile.function_name(FunctionId(id)));
    assert_eq!(names, ["app::main", "[unnamed]", "[unnamed]"]);
}

#[test]
fn nodes_of_no_weight_are_not_counted() {
    assert_eq!(weighty(&[3, 0, 1, 0]), 2);
}
