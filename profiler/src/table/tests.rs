//! Columns of rows made by hand, and the words of the command line.

use super::*;
use crate::calltree;
use crate::profile::{Footprint, FootprintNode, FootprintNodeValue, Function, Origin, TypeId};
use crate::sample;
use std::collections::HashSet;

fn row(detail: Detail) -> Row {
    Row {
        key: "key".to_owned(),
        figures: Figures::default(),
        detail,
    }
}

fn titles(by: By, rows: &[Row]) -> Vec<&'static str> {
    let columns = columns(by, Measure::Total, 0, 1_000, rows);
    let measures = Measure::ALL.map(Measure::name);
    let titles = columns.iter().map(|column| column.heading.title());
    let titles = titles.filter(|title| *title != "share");
    titles.filter(|title| !measures.contains(title)).collect()
}

fn cells(by: By, row: Row) -> Vec<String> {
    let rows = [row];
    let columns = columns(by, Measure::Total, 0, 1_000, &rows);
    let special = columns
        .iter()
        .filter(|column| titles(by, &rows).contains(&column.heading.title()));
    special.map(|column| column.cell(&rows[0])).collect()
}

#[test]
fn every_grouping_has_a_word_of_its_own() {
    let words = By::ALL.map(By::name);
    let distinct: HashSet<&str> = words.into_iter().collect();
    assert_eq!(distinct.len(), By::ALL.len());
    assert!(!distinct.contains(""));
    let words = calltree::Levels::ALL.map(calltree::Levels::name);
    assert_eq!(words, ["stack", "field", "type", "arena"]);
}

#[test]
fn phases_have_the_columns_that_one_of_them_has_figures_for() {
    let phase = |detail: PhaseDetail| row(Detail::Phase(Box::new(detail)));
    let said_nothing = || phase(PhaseDetail::default());
    assert_eq!(titles(By::Phase, &[said_nothing()]), [""; 0]);
    let retained = phase(PhaseDetail {
        retained_bytes: Some(-10),
        ..PhaseDetail::default()
    });
    assert_eq!(
        titles(By::Phase, &[said_nothing(), retained.clone()]),
        ["retained"]
    );
    assert_eq!(cells(By::Phase, retained), ["-10 B"]);
    let detail = PhaseDetail {
        with_inner: Figures {
            total_bytes: 1_000,
            peak_bytes: 500,
            ..Figures::default()
        },
        input_bytes: 100,
        retained_bytes: Some(250),
        ..PhaseDetail::default()
    };
    let with_input = phase(detail);
    let of_input = ["retained", "total/in", "kept/in", "peak/in"];
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
        ..detail
    });
    let of_records = ["retained", "total/rec", "kept/rec", "peak/rec"];
    assert_eq!(
        titles(By::Phase, &[said_nothing(), with_records.clone()]),
        of_records
    );
    assert_eq!(
        cells(By::Phase, with_records),
        ["250 B", "250 B", "62.5 B", "125 B"]
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
    let mut profile = sample::city_arenas();
    let nameless = crate::profile::FunctionId(profile.functions.len() as u32);
    profile.functions.push(Function::default());
    let name = |function| profile.function_name(function);
    assert_eq!(name(nameless), "[unnamed]");
    assert_eq!(
        name(crate::profile::FunctionId(nameless.0 + 1)),
        "[unnamed]"
    );
    assert_eq!(
        name(crate::profile::FunctionId(0)),
        profile.functions[0].name
    );
}

#[test]
fn types_that_share_a_short_name_inside_an_arena_are_told_apart() {
    let mut profile = sample::city_arenas();
    let keys = |profile: &Profile| -> Vec<String> {
        let rows = rows(profile, By::Arena, Measure::Total, Frames::Folded);
        let cities = rows.iter().find(|row| row.key == "cities").expect("a row");
        let Detail::Arena(detail) = &cities.detail else {
            panic!("an arena");
        };
        detail.types.iter().map(|part| part.key.clone()).collect()
    };
    assert_eq!(keys(&profile.clone()), ["Vec<Citizen>", "&str", "&[u8]"]);
    for name in &mut profile.types {
        if name.full.contains("u8]") {
            name.short = "&str".to_owned();
        }
    }
    assert_eq!(keys(&profile.clone()), ["Vec<Citizen>", "&str", "&[u8]"]);
    let names: Vec<&str> = profile
        .types
        .iter()
        .map(|name| name.short.as_str())
        .collect();
    assert_eq!(names.iter().filter(|name| **name == "&str").count(), 2);
}

#[test]
fn what_a_phase_kept_is_known_when_it_is_of_each_time_it_was_entered() {
    let mut b = sample::Builder::new();
    for _ in 0..3 {
        b.scope(0, "load", 0, 0);
    }
    let scopes = &mut b.profile().scopes;
    (scopes[1].retained_bytes, scopes[2].retained_bytes) = (Some(5), Some(7));
    // Found in the table, never entered.
    (scopes[3].entered, scopes[3].retained_bytes) = (0, None);
    let retained = |profile: &Profile| {
        let rows = rows(profile, By::Phase, Measure::Total, Frames::Folded);
        let load = rows.iter().find(|row| row.key == "load").expect("a row");
        let Detail::Phase(detail) = &load.detail else {
            panic!("a phase");
        };
        (detail.entered, detail.retained_bytes)
    };
    let mut profile = b.build();
    assert_eq!(retained(&profile.clone()), (2, Some(12)));
    profile.scopes[3].entered = 1;
    assert_eq!(retained(&profile), (3, None));
}

#[test]
fn nodes_of_no_weight_are_not_counted() {
    assert_eq!(weighty(&[3, 0, 1, 0]), 2);
}

#[test]
fn raw_allocations_of_a_crate_are_shown_with_the_crate_and_the_function() {
    let mut builder = sample::Builder::new();
    let mut frame = |name: &str, krate: &str, origin| {
        let function = builder.function(name, krate, origin);
        let described = &mut builder.profile().functions[function.0 as usize];
        described.does = format!("{krate}::{}", described.short);
        builder.frame(function, Some("src/a.rs"), 1)
    };
    let main = frame("app::main", "app", Origin::User);
    let std = frame("alloc::alloc::alloc", "alloc", Origin::Std);
    let asking = [
        ("crossbeam_deque::deque::Buffer::alloc", "crossbeam_deque"),
        ("thin_vec::ThinVec::reserve", "thin_vec"),
        ("bytes::bytes_mut::BytesMut::reserve_inner", "bytes"),
        ("tokio::runtime::task::core::Cell::new", "tokio"),
    ]
    .map(|(name, krate)| frame(name, krate, Origin::Dependency));
    for dependency in asking {
        let figures = sample::figures(1, 8, 1);
        builder.site(&[main, dependency, std], Default::default(), figures);
    }
    let mut what: Vec<String> = rows(&builder.build(), By::Site, Measure::Total, Frames::Folded)
        .into_iter()
        .filter_map(|row| match row.detail {
            Detail::Site(detail) => Some(detail.label.what),
            _ => None,
        })
        .collect();
    what.sort();
    let crates_and_functions = [
        "bytes::BytesMut::reserve_inner",
        "crossbeam_deque::Buffer::alloc",
        "thin_vec::ThinVec::reserve",
        "tokio::Cell::new",
    ];
    assert_eq!(what, crates_and_functions);
}

#[test]
fn what_was_found_of_a_type_comes_from_one_footprint_for_values_may_share_blocks() {
    let footprint = |label: &str, time_ns, block_bytes| {
        let node = FootprintNode {
            value_type: Some(TypeId(7)),
            figures: FootprintNodeValue {
                blocks: 2,
                block_bytes,
                used_bytes: 60,
                ..FootprintNodeValue::default()
            },
            ..FootprintNode::default()
        };
        Footprint {
            label: label.to_owned(),
            time_ns,
            nodes: vec![node],
            ..Footprint::default()
        }
    };
    let profile = Profile {
        // An older one of "b" held more.
        footprints: vec![
            footprint("b", 1, 900),
            footprint("a", 2, 100),
            footprint("b", 3, 80),
        ],
        ..Profile::default()
    };
    let found = &slack_by_type(&profile)[&TypeId(7)];
    assert_eq!(
        (found.footprint.as_str(), found.of_blocks, found.of_bytes),
        ("a", 2, 100)
    );
    assert_eq!(found.bytes, 40);
}

#[test]
fn a_closure_and_the_body_of_an_async_function_belong_to_their_function() {
    for (name, _) in sample::REAL {
        let profile = sample::real(name);
        for by in [By::Site, By::Owner] {
            for row in rows(&profile, by, Measure::Peak, Frames::Folded) {
                let owner = match &row.detail {
                    Detail::Site(detail) => &detail.label.owner,
                    _ => &row.key,
                };
                assert!(!owner.contains("{{closure}}"), "{owner} of {name}");
            }
        }
    }
    let profile = sample::real("server");
    let owners = rows(&profile, By::Owner, Measure::Peak, Frames::Folded);
    assert_eq!(owners[0].key, "server::take");
    // The line is that of the body, not of the signature.
    let Detail::Owner { owner, .. } = owners[0].detail else {
        panic!("an owner");
    };
    let source = owner.and_then(|owner| profile.source_of(owner));
    assert_eq!(source.as_deref(), Some("src/main.rs:53"));
}
