//! Reports by arena: their contents, the remarks on them, and the figures that are never mixed.

use super::*;
use heapglass_profiler::profile::{Frames, TypeId};
use heapglass_profiler::units::Bytes;

fn by_arena<'a>() -> ReportOptions<'a> {
    ReportOptions {
        by: By::Arena,
        ..ReportOptions::default()
    }
}

fn row<'a>(json: &'a Value, key: &str) -> &'a Value {
    let rows = json["rows"].as_array().expect("rows");
    let row = rows.iter().find(|row| row["key"] == key);
    row.unwrap_or_else(|| panic!("no row {key:?} in {rows:#?}"))
}

#[test]
fn the_text_report_by_arena_reads_well() {
    golden("by_arena", &text(&fixture::city_arenas(), &by_arena()));
}

#[test]
fn the_json_report_by_arena_has_the_fixed_keys() {
    let mut profile = fixture::city_arenas();
    // One checkpoint of each kind is enough here.
    profile.parts().arenas[0].history.truncate(1);
    profile.parts().arenas[1].history.truncate(2);
    let json = json(&profile, &by_arena());
    let rows = serde_json::to_string_pretty(&json["rows"]).expect("JSON");
    golden("json_by_arena", &rows);
}

#[test]
fn an_arena_row_has_the_figures_of_the_crate_under_its_names() {
    let json = json(&fixture::city_arenas(), &by_arena());
    let cities = row(&json, "cities");
    assert_eq!(cities["allocated_bytes"], 6_400_000);
    assert_eq!(cities["allocated_bytes_including_metadata"], 6_400_720);
    let sum: u64 = ["used", "padding", "abandoned", "bypassed", "unused_tail"]
        .iter()
        .filter_map(|part| cities[format!("{part}_bytes")].as_u64())
        .sum();
    assert_eq!(cities["allocated_bytes"], sum);
    assert_eq!(cities["total_bytes"], cities["total_used_bytes"]);
    assert_eq!(cities["live_bytes"], cities["used_bytes"]);
    // Figures that an arena does not report are never shown.
    for key in ["peak_bytes", "peak_blocks", "shrinks", "temporary_bytes"] {
        assert_eq!(cities[key], Value::Null, "{key}");
    }
}

#[test]
fn text_and_json_name_the_bytes_of_an_arena_alike() {
    let profile = fixture::city_arenas();
    let (text, json) = (text(&profile, &by_arena()), json(&profile, &by_arena()));
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let cities = row(&json, "cities");
    let figure = |key: &str| Bytes(cities[key].as_u64().expect(key));
    assert!(text.contains(&format!("allocated_bytes {}", figure("allocated_bytes"))));
    for part in heapglass_profiler::profile::arenas::Part::ALL {
        let key = format!("{}_bytes", part.name().replace(' ', "_"));
        let said = format!("{} {} (", part.name(), figure(&key));
        assert!(text.contains(&said) || cities[&key] == 0, "{said}: {text}");
    }
}

#[test]
fn arenas_are_inside_blocks_that_are_counted_and_never_added_to_totals() {
    let mut profile = fixture::city_arenas();
    let with = json(&profile, &by_arena());
    assert_eq!(with["rows_sum_to_totals"], false);
    profile.parts().arenas.clear();
    let without = json(&profile, &by_arena());
    assert_eq!(with["totals"], without["totals"]);
    assert_eq!(without["rows"], Value::Array(Vec::new()));
}

#[test]
fn a_recording_without_arenas_says_how_to_name_one() {
    for profile in [fixture::profile(), Profile::default()] {
        let said = text(&profile, &by_arena());
        assert!(said.contains("Tracked::new(\"cities\", &bump)"), "{said}");
        let json = json(&profile, &by_arena());
        assert!(json["notes"].to_string().contains("Tracked::new"));
    }
}

#[test]
fn a_smuggled_string_is_named_with_its_site_and_its_type() {
    let profile = fixture::city_arenas();
    let said = text(&profile, &by_arena()).replace("\n    ", " ");
    assert!(
        said.contains("of the global heap leaked by the arena's drop, unless the program moved them out: arena request"),
        "{said}"
    );
    assert!(
        said.contains("Site: atlas::model::note (src/model.rs:31)"),
        "{said}"
    );
    let json = json(&profile, &by_arena());
    let leak = &row(&json, "request")["leaks"][0];
    assert_eq!(leak["certainty"], "leaked");
    assert_eq!(leak["type"], "String");
    assert_eq!(leak["site"], "atlas::model::note (src/model.rs:31)");
    assert_eq!(
        row(&json, "cities")["leaks"][0]["certainty"],
        "instances live"
    );
}

#[test]
fn an_arena_that_does_not_add_up_is_a_loss_in_every_report() {
    let mut profile = fixture::city_arenas();
    assert!(!profile.losses().iter().any(|loss| loss.contains("Arena")));
    profile.parts().arenas[0].figures.padding_bytes += 8;
    for by in By::COUNTED {
        let options = ReportOptions {
            by,
            width: 300,
            ..ReportOptions::default()
        };
        assert!(text(&profile, &options).contains("! Arena cities: its parts add up to"));
    }
    let json = json(&profile, &by_arena());
    assert_eq!(row(&json, "cities")["parts_add_up"], false);
    assert_eq!(row(&json, "request")["parts_add_up"], true);
}

#[test]
fn a_site_of_chunks_says_which_arena_it_feeds() {
    let profile = fixture::city_arenas();
    let said = text(&profile, &ReportOptions::default());
    assert!(said.contains("chunk of arena cities"), "{said}");
    let json = json(&profile, &ReportOptions::default());
    let rows = json["rows"].as_array().expect("rows");
    let chunks: Vec<&Value> = rows
        .iter()
        .filter(|row| !row["chunk_of"].is_null())
        .collect();
    assert_eq!(chunks.len(), 2);
    assert!(chunks.iter().any(|row| row["chunk_of"][0] == "request"));
}

#[test]
fn arenas_are_ordered_by_the_measure() {
    let profile = fixture::city_arenas();
    for measure in Measure::COUNTED {
        let weights: Vec<Option<u64>> = rows(&profile, By::Arena, measure, Frames::Folded)
            .iter()
            .map(|row| match &row.detail {
                Detail::Arena(detail) => detail.measured,
                other => panic!("not an arena: {other:?}"),
            })
            .collect();
        assert!(weights.is_sorted_by(|a, b| a >= b), "{weights:?}");
    }
    let top = ReportOptions {
        top: Some(1),
        ..by_arena()
    };
    assert!(text(&profile, &top).contains("... 3 more arenas"));
    assert_eq!(
        json(&profile, &top)["rows"].as_array().map(Vec::len),
        Some(1)
    );
}

#[test]
fn nothing_inside_an_arena_is_temporary_in_any_report() {
    let profile = fixture::city_arenas();
    let options = ReportOptions {
        measure: Measure::Temporary,
        top: Some(1),
        width: 300,
        ..by_arena()
    };
    let said = text(&profile, &options);
    assert!(
        said.contains("Arenas by bytes used in total (nothing inside an arena is temporary)"),
        "{said}"
    );
    // The omitted arenas have none of these figures, and the largest arena is shown.
    assert!(said.contains("\n... 3 more arenas (--top 1)\n"), "{said}");
    assert!(said.contains("\ncities  "), "{said}");
    let json = json(&profile, &options);
    let temporary = ["temporary_bytes", "temporary_blocks"];
    for of in [row(&json, "cities"), &json["elided"]] {
        for key in temporary
            .iter()
            .chain(&["peak_bytes", "peak_blocks", "shrinks"])
        {
            assert_eq!(of.get(key), Some(&Value::Null), "{key}");
        }
        assert!(of["total_bytes"].as_u64() > Some(0));
    }
    assert_eq!(row(&json, "cities")["share"], Value::Null);
    for row in rows(&profile, By::Arena, Measure::Temporary, Frames::Folded) {
        let Detail::Arena(detail) = &row.detail else {
            panic!("not an arena: {row:?}");
        };
        assert_eq!((detail.measured, row.figures.temporary_bytes), (None, 0));
        let arena = &profile.arenas()[detail.arena];
        for (_, inside) in heapglass_profiler::profile::arenas::by_type(&profile, arena) {
            let measured =
                heapglass_profiler::profile::arenas::measured_inside(&inside, Measure::Temporary);
            assert_eq!(measured, None);
        }
    }
    // Pictures refuse the measure: see `flamegraph`.
    assert!(!flamegraph::is_of_arenas(Measure::Temporary));
}

#[test]
fn every_measure_of_arenas_reads_the_figure_it_is_called_by() {
    let arena = fixture::made!(heapglass_profiler::profile::Arena {
        figures: heapglass_profiler::profile::ArenaValue {
            most_allocated_bytes: 1,
            allocated_bytes: 2,
            total_used_bytes: 3,
            total_used_blocks: 4,
            copied_bytes: 5,
            grows: 6,
            ..Default::default()
        },
    });
    let used = fixture::made!(heapglass_profiler::profile::arenas::ArenaFigures {
        live_bytes: 2,
        total_bytes: 3,
        total_blocks: 4,
        copied_bytes: 5,
        grows: 6,
    });
    let told: Vec<_> = Measure::COUNTED
        .into_iter()
        .map(|measure| {
            let of_arena = heapglass_profiler::profile::arenas::measured(&arena, measure);
            let inside = heapglass_profiler::profile::arenas::measured_inside(&used, measure);
            let named = heapglass_profiler::profile::arenas::measured_title(measure).is_some();
            assert_eq!(named, of_arena.is_some());
            let named =
                heapglass_profiler::profile::arenas::measured_inside_title(measure).is_some();
            assert_eq!(named, inside.is_some());
            (measure.name(), of_arena, inside)
        })
        .collect();
    let expected = [
        ("peak", Some(1), Some(3)),
        ("live", Some(2), Some(2)),
        ("total", Some(3), Some(3)),
        ("blocks", Some(4), Some(4)),
        ("temporary", None, None),
        ("copied", Some(5), Some(5)),
        ("grows", Some(6), Some(6)),
    ];
    assert_eq!(told, expected);
}

#[test]
fn a_phase_that_frees_more_than_it_allocates_reads_well() {
    let profile = fixture::city_arenas();
    let said = text(
        &profile,
        &ReportOptions {
            by: By::Phase,
            measure: Measure::Total,
            ..ReportOptions::default()
        },
    );
    let line = said.lines().find(|line| line.ends_with("release"));
    assert!(line.is_some_and(|line| line.contains("-6.3 MiB")), "{said}");
    assert!(
        said.contains("freed 6.3 MiB more than it allocated"),
        "{said}"
    );
    let json = json(
        &profile,
        &ReportOptions {
            by: By::Phase,
            ..ReportOptions::default()
        },
    );
    assert_eq!(row(&json, "release")["stayed_bytes"], -6_553_600);
    assert_eq!(row(&json, "load")["stayed_bytes"], 8_700_000);
}

#[test]
fn hostile_names_and_figures_of_arenas_stay_text() {
    let evil = "evil\u{1b}]0;x\u{7}\u{9b}31m\r\n\u{202e}";
    let mut profile = fixture::city_arenas();
    for arena in profile.parts().arenas {
        arena.name = format!("{evil}{}", "long ".repeat(60));
        arena.krate = evil.into();
        arena.figures.total_used_bytes = u64::MAX;
        arena.figures.most_occupied_bytes = u64::MAX;
        arena.figures.most_chunks = u64::MAX;
        arena.figures.made = u64::MAX;
        for row in &mut arena.rows {
            row.scope.0 *= 7;
            row.inside.bypassed_bytes = u64::MAX;
        }
        for moment in &mut arena.history {
            moment.site = Some(usize::MAX);
            moment.allocated_bytes = u64::MAX;
        }
    }
    for name in profile.parts().types {
        name.short = evil.into();
    }
    for scope in profile.parts().scopes {
        scope.name = evil.into();
        scope.value_type = scope.value_type.map(|id| TypeId(id.0 * 3));
    }
    for by in By::COUNTED {
        for width in [0, 60, 100] {
            let options = ReportOptions {
                by,
                width,
                ..ReportOptions::default()
            };
            for line in text(&profile, &options).lines() {
                assert!(
                    !line.chars().any(|c| c.is_control() || c == '\u{202e}'),
                    "{line:?}"
                );
                let columns = unicode_width::UnicodeWidthStr::width(line);
                assert!(columns <= width.max(40), "{columns} of {width}: {line}");
            }
            json(&profile, &options);
        }
    }
}
