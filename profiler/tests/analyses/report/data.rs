//! Rows by type and by field, phases with their input, footprints.

use super::*;
use heapglass_profiler::profile::{Distribution, Frames, ScopeKind, TypeId};

fn by(by: By) -> ReportOptions<'static> {
    ReportOptions {
        by,
        details: true,
        ..ReportOptions::default()
    }
}

fn row<'a>(json: &'a Value, key: &str) -> &'a Value {
    let rows = json["rows"].as_array().expect("rows");
    let row = rows.iter().find(|row| row["key"] == key);
    row.unwrap_or_else(|| panic!("no row {key:?} in {rows:#?}"))
}

#[test]
fn rows_of_types_and_of_fields_add_up_to_the_totals() {
    let profile = fixture::fleet();
    for grouping in adding_up() {
        for measure in Measure::COUNTED {
            let rows = rows(&profile, grouping, measure, Frames::Folded);
            assert_eq!(sum(&rows), *profile.totals(), "rows by {}", grouping.name());
        }
    }
    // Compares the same bytes in reverse order.
    for (grouping, parts) in [(By::Type, "fields"), (By::Field, "types")] {
        let json = json(&profile, &by(grouping));
        for row in json["rows"].as_array().expect("rows") {
            let parts = row[parts].as_array().expect("parts");
            let sum: u64 = parts
                .iter()
                .filter_map(|part| part["total_bytes"].as_u64())
                .sum();
            assert_eq!(row["total_bytes"], sum, "{}", row["key"]);
        }
    }
}

#[test]
fn the_text_report_by_type_reads_well() {
    let text = text(&fixture::fleet(), &by(By::Type));
    golden("by_type", &text);
}

#[test]
fn the_text_report_by_field_is_a_tree() {
    let text = text(&fixture::fleet(), &by(By::Field));
    golden("by_field", &text);
}

#[test]
fn the_json_report_by_type_has_the_fixed_keys() {
    let json = json(&fixture::fleet(), &by(By::Type));
    let some: Vec<&Value> = ["Vec<Sailor>", "(unknown type)", "Sailor", "Vec<log::Entry>"]
        .iter()
        .filter_map(|key| {
            json["rows"]
                .as_array()?
                .iter()
                .find(|row| row["key"] == *key)
        })
        .collect();
    let shown = serde_json::to_string_pretty(&some).expect("JSON");
    golden("json_by_type", &shown);
}

#[test]
fn the_json_report_by_field_has_the_fixed_keys() {
    let json = json(&fixture::fleet(), &by(By::Field));
    let some: Vec<&Value> = [
        "Fleet",
        "Fleet.vessels[].cargo(from buffer)",
        "Fleet.routes{value}#1",
        "(no field)",
    ]
    .map(|key| row(&json, key))
    .to_vec();
    let shown = serde_json::to_string_pretty(&some).expect("JSON");
    golden("json_by_field", &shown);
}

#[test]
fn two_types_of_one_short_name_are_told_apart() {
    let json = json(&fixture::fleet(), &by(By::Type));
    for module in ["log", "audit"] {
        let full = format!("alloc::vec::Vec<fleet::{module}::Entry>");
        assert_eq!(
            row(&json, &format!("Vec<{module}::Entry>"))["full_name"],
            full
        );
    }
    let keys = json["rows"].as_array().expect("rows").iter();
    assert!(keys.clone().all(|row| row["key"] != "Vec<Entry>"));
    let text = text(&fixture::fleet(), &by(By::Type));
    assert!(
        text.contains("log::Entry"),
        "a name that does not fit into its column stands below it: {text}"
    );
    assert!(keys.clone().any(|row| row["key"] == "Vec<Sailor>"));
}

#[test]
fn a_type_says_whether_the_stack_or_the_field_told() {
    let json = json(&fixture::fleet(), &by(By::Type));
    let from = |key: &str| row(&json, key)["from"].clone();
    assert_eq!(from("Vec<Sailor>"), "stack");
    assert_eq!(from("VecDeque<u32>"), "field");
    assert_eq!(from("String"), "mixed");
    assert_eq!(from("(unknown type)"), Value::Null);
}

#[test]
fn a_type_whose_value_was_measured_and_estimated_says_both() {
    let mut profile = fixture::fleet();
    let of = profile.type_rows().iter().find_map(|row| row.type_id);
    for footprint in profile.parts().footprints {
        footprint.value_type = of;
    }
    let measured = profile.measured().iter().rev();
    let (exact, estimate) = measured
        .filter(|measured| !measured.footprint.estimate)
        .find_map(|measured| Some((measured.bytes, measured.estimate?.bytes)))
        .expect("an exact value with an estimate beside it");
    let json = json(&profile, &by(By::Type));
    let key = profile.type_key(of).to_owned();
    let estimated = &row(&json, &key)["estimated"];
    assert_eq!(estimated["footprint"], "fleet");
    assert_eq!(estimated["bytes"], exact);
    assert_eq!(estimated["estimate_bytes"], estimate);
    let others = json["rows"].as_array().expect("rows").iter();
    let said = others.filter(|row| row.get("estimated").is_some());
    assert_eq!(said.count(), 1, "of no other type");
    let text = text(&profile, &by(By::Type));
    assert!(
        text.replace("\n         ", " ")
            .contains("by deepsize's estimate ("),
        "{text}"
    );
}

#[test]
fn a_field_beside_a_buffer_is_not_mixed_up_with_it() {
    let json = json(&fixture::fleet(), &by(By::Field));
    let built = row(&json, "Fleet.vessels[].cargo(from buffer)");
    let types: Vec<&Value> = built["types"]
        .as_array()
        .expect("types")
        .iter()
        .map(|part| &part["key"])
        .collect();
    assert_eq!(types, ["Vec<Crate>", "String"]);
    let buffered = row(&json, "Fleet.vessels[].cargo(buffered)");
    assert!(buffered["total_bytes"].as_u64() > Some(0));
    let cargo = row(&json, "Fleet.vessels[].cargo");
    assert_eq!(
        cargo["total_bytes"], 0,
        "its own blocks are in rows of their own"
    );
    assert!(cargo["with_inner"]["total_bytes"].as_u64() > buffered["total_bytes"].as_u64());
}

#[test]
fn a_recording_without_fields_says_how_to_get_them() {
    let profile = fixture::profile();
    let json = json(&profile, &by(By::Field));
    assert_eq!(json["rows"].as_array().map(Vec::len), Some(1));
    assert_eq!(json["rows"][0]["key"], "(no field)");
    let note = json["notes"][0].as_str().expect("a note");
    assert!(note.starts_with("No fields: the program deserialized nothing as Profiled<T>"));
    let text = text(&profile, &by(By::Field));
    assert!(text.contains("Profiled<T>"), "{text}");
    // A single row with all bytes would be useless.
    assert!(!text.contains("(no field)"), "{text}");
    assert!(!text.contains("100.0 %"), "{text}");
}

#[test]
fn blocks_without_a_type_say_which_build_would_tell() {
    let mut profile = fixture::profile();
    assert!(text(&profile, &by(By::Type)).contains("(unknown type)"));
    profile.parts().modules[0].symbols = SymbolSource::Table("app".into());
    for frame in profile.parts().frames {
        frame.file = None;
    }
    let json = json(&profile, &by(By::Type));
    let note = json["notes"][0].as_str().expect("a note");
    assert!(note.contains("debug = \"limited\""), "{note}");
}

#[test]
fn a_phase_has_the_bytes_of_its_fields_and_its_input() {
    let json = json(&fixture::fleet(), &by(By::Phase));
    let keys: Vec<&Value> = json["rows"]
        .as_array()
        .expect("rows")
        .iter()
        .map(|row| &row["key"])
        .collect();
    assert_eq!(
        keys,
        ["load", "check", "(no phase)"],
        "fields are no phases"
    );
    let load = row(&json, "load");
    let figure = |key: &str| load[key].as_f64().expect("a figure");
    let close = |ratio: &Value, of: f64, by: f64| {
        let ratio = ratio.as_f64().expect("a ratio");
        assert!((ratio - of / by).abs() < 1e-9, "{ratio}, {of} / {by}");
    };
    let (input, records) = (9_000_000.0, 1_200.0);
    close(
        &load["per_input_byte"]["total"],
        figure("total_bytes"),
        input,
    );
    close(&load["per_input_byte"]["peak"], figure("peak_bytes"), input);
    close(
        &load["per_input_byte"]["stayed"],
        figure("stayed_bytes"),
        input,
    );
    close(
        &load["per_record"]["stayed"],
        figure("stayed_bytes"),
        records,
    );
    assert_eq!(row(&json, "check")["stayed_bytes"], -2_048);
    assert_eq!(row(&json, "(no phase)").get("per_input_byte"), None);
    assert!(text(&fixture::fleet(), &by(By::Phase)).contains("-2.0 KiB"));
}

#[test]
fn where_it_is_not_known_what_stayed_nothing_is_said_of_it() {
    let mut profile = fixture::fleet();
    for scope in profile.parts().scopes {
        scope.stayed_bytes = None;
    }
    let json = json(&profile, &by(By::Phase));
    assert_eq!(row(&json, "load")["stayed_bytes"], Value::Null);
    assert_eq!(row(&json, "load")["per_input_byte"]["stayed"], Value::Null);
    let text = text(&profile, &by(By::Phase));
    assert!(!text.contains("  stayed"), "{text}");
}

#[test]
fn a_site_says_phase_field_and_type() {
    let json = json(&fixture::fleet(), &by(By::Site));
    let sites = json["rows"].as_array().expect("rows");
    let found = sites.iter().any(|row| {
        row["phase"] == "load"
            && row["field"] == "Fleet.vessels[].crew[].first"
            && row["type"] == "String"
    });
    assert!(found, "{sites:#?}");
    let outside = sites
        .iter()
        .find(|row| row["phase"].is_null())
        .expect("one");
    assert_eq!(
        (&outside["field"], &outside["type"]),
        (&Value::Null, &Value::Null)
    );
    let text = text(&fixture::fleet(), &by(By::Site)).replace("\n         ", " ");
    assert!(
        text.contains("Vec<Sailor>  [load] Fleet.vessels[].crew"),
        "{text}"
    );
}

#[test]
fn a_footprint_stands_beside_its_estimate_in_every_report() {
    let profile = fixture::fleet();
    for grouping in By::COUNTED {
        let json = json(&profile, &by(grouping));
        let footprints = json["footprints"].as_array().expect("footprints");
        assert_eq!(footprints.len(), 3);
        let (first, second, estimate) = (&footprints[0], &footprints[1], &footprints[2]);
        assert_eq!(
            (&first["exact"], &estimate["exact"]),
            (&true.into(), &false.into())
        );
        assert_eq!(
            first["estimate"],
            Value::Null,
            "the estimate is nearer to the second"
        );
        let bytes = |of: &Value| of["bytes"].as_i64().expect("bytes");
        assert_eq!(bytes(&second["estimate"]), bytes(estimate));
        assert_eq!(
            second["estimate"]["difference_bytes"],
            bytes(&second["estimate"]) - bytes(second)
        );
        assert_eq!(second["change_bytes"], bytes(second) - bytes(first));
        assert_eq!(second["number"], 2);
        let nodes = second["nodes"].as_array().expect("nodes");
        let sum: i64 = nodes.iter().map(bytes).sum();
        assert_eq!(sum, bytes(second));
        assert_eq!(nodes[0]["with_inner_bytes"], sum);
        assert!(text(&profile, &by(grouping)).contains("Footprint fleet: Fleet"));
    }
}

#[test]
fn thousands_of_footprints_are_compared_in_no_time_and_cut_in_the_text() {
    let mut profile = fixture::fleet();
    let some = profile.footprints().to_vec();
    for number in 0..20_000 {
        let mut one = some[number % 3].clone();
        one.time_ns = number as u64;
        one.nodes.truncate(1);
        if number > 10_000 {
            one.label = format!("label {number}");
        }
        profile.parts().footprints.push(one);
    }
    let started = std::time::Instant::now();
    let all = profile.measured();
    let compared = all.iter().filter(|one| one.estimate.is_some()).count();
    assert!(compared > 1_000, "{compared}");
    let text = text(&profile, &by(By::Phase));
    assert!(text.contains("more labels (report --json)"));
    assert!(text.lines().count() < 1_000);
    assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
}

#[test]
fn a_footprint_with_hidden_values_is_called_a_lower_bound() {
    let mut profile = fixture::fleet();
    let said = "could not be looked into: the figures are a lower bound";
    assert!(!text(&profile, &by(By::Type)).contains(said));
    profile.parts().footprints[1].hidden_values = 2;
    assert!(text(&profile, &by(By::Type)).contains(&format!("2 values {said}")));
    let json = json(&profile, &by(By::Type));
    let hidden = |index: usize| &json["footprints"][index]["hidden_values"];
    assert_eq!((hidden(0), hidden(1)), (&0.into(), &2.into()));
}

#[test]
fn an_estimate_alone_is_never_called_exact() {
    let mut profile = fixture::fleet();
    profile
        .parts()
        .footprints
        .retain(|footprint| footprint.estimate);
    let text = text(&profile, &by(By::Type));
    assert!(text.contains("estimated; footprint("), "{text}");
    let json = json(&profile, &by(By::Type));
    assert_eq!(json["footprints"][0]["exact"], false);
    assert!(json["footprints"][0].get("nodes").is_none());
    assert!(
        json["rows"]
            .as_array()
            .expect("rows")
            .iter()
            .all(|row| row.get("slack_bytes").is_none())
    );
}

#[test]
fn a_tree_cut_short_counts_what_it_leaves_out() {
    let profile = fixture::fleet();
    let options = ReportOptions {
        top: Some(4),
        measure: Measure::Total,
        ..by(By::Field)
    };
    let text = text(&profile, &options);
    let fields = profile.fields().nodes().len();
    assert!(
        text.contains(&format!("... {} more fields", fields - 4)),
        "{text}"
    );
}

#[test]
fn names_in_the_data_reach_no_terminal_as_control_characters() {
    let evil = "e\u{1b}]0;x\u{7}\r\n\u{202e}";
    let mut profile = fixture::fleet();
    for scope in profile.parts().scopes {
        scope.name = evil.into();
    }
    for name in profile.parts().types {
        name.short = format!("{evil}{}", name.short);
        name.full = format!("{evil}{}", name.full);
    }
    for footprint in profile.parts().footprints {
        footprint.label = evil.into();
        for node in &mut footprint.nodes {
            node.name = evil.into();
        }
    }
    for grouping in By::COUNTED {
        for width in [0, 60, 100, 200] {
            let options = ReportOptions {
                width,
                top: Some(99),
                ..by(grouping)
            };
            for line in text(&profile, &options).lines() {
                assert!(
                    !line.chars().any(|c| c.is_control() || c == '\u{202e}'),
                    "{line:?}"
                );
                let columns = unicode_width::UnicodeWidthStr::width(line);
                assert!(columns <= width.max(40), "{columns} of {width}: {line}");
            }
        }
        let mut raw = Vec::new();
        write_json(&profile, &by(grouping), &mut raw).expect("writing to memory");
        let raw = String::from_utf8(raw).expect("text");
        assert!(
            !raw.chars()
                .any(|c| c != '\n' && (c.is_control() || c == '\u{202e}'))
        );
    }
}

#[test]
fn a_damaged_recording_loses_no_bytes_and_finds_an_end() {
    let mut profile = fixture::fleet();
    let count = profile.scopes().len() as u32;
    for (index, scope) in (0..).zip(profile.parts().scopes) {
        scope.parent = (index * 7 + 5) % (count + 3);
        scope.value_type = Some(TypeId(index * 31));
        if index % 5 == 0 {
            scope.kind = ScopeKind::Root;
        }
    }
    for site in profile.parts().sites {
        site.scope.0 = site.scope.0 * 3 % (count + 9);
    }
    for footprint in profile.parts().footprints {
        footprint.value_type = Some(TypeId(u32::MAX));
        for node in &mut footprint.nodes {
            node.parent = node.parent.wrapping_mul(0x9e37_79b9);
            node.figures.block_bytes = u64::MAX;
        }
    }
    for grouping in adding_up() {
        let rows = rows(&profile, grouping, Measure::Peak, Frames::Folded);
        assert_eq!(sum(&rows), *profile.totals(), "{}", grouping.name());
        assert!(text(&profile, &by(grouping)).contains("Footprint fleet"));
        json(&profile, &by(grouping));
    }
}

/// Returns two sites that form one row, with the figures of their blocks.
fn of_two_sites() -> Profile {
    let mut b = Builder::new();
    let main = b.function("app::main", "app", Origin::User);
    let main = b.frame(main, Some("src/main.rs"), 3);
    let counted = |total_blocks: u64, total_bytes: u64, freed_blocks: u64| {
        fixture::made!(Figures {
            total_blocks,
            total_bytes,
            freed_blocks,
        })
    };
    let mut first = fixture::made!(Distribution {
        lifetime: 50,
        lifetime_blocks: 5,
        freed_elsewhere: 1,
    });
    first.add_blocks(24, 6);
    first.add_blocks(40, 2);
    b.site(&[main], ScopeId(0), counted(8, 6 * 24 + 2 * 40, 7))
        .distribution = first;
    let mut second = fixture::made!(Distribution {
        lifetime: 4,
        lifetime_blocks: 1,
        freed_elsewhere: 1,
    });
    second.add_blocks(24, 1);
    b.site(&[main], ScopeId(0), counted(2, 2 * 24, 3))
        .distribution = second;
    b.checkpoint(100, &[(64, 2), (0, 0)]);
    b.checkpoint(200, &[(24, 1), (48, 2)]);
    b.build()
}

#[test]
fn a_site_says_sizes_lifetimes_and_what_it_held_at_checkpoints() {
    let json = json(&of_two_sites(), &by(By::Site));
    let rows = json["rows"].as_array().expect("rows");
    let [row] = &rows[..] else {
        panic!("one row: {rows:#?}");
    };
    let size = |min: u64, max: u64, blocks: u64| serde_json::json!({"min_bytes": min, "max_bytes": max, "blocks": blocks});
    assert_eq!(
        row["sizes"],
        Value::Array(vec![size(24, 24, 6 + 1), size(33, 40, 2)])
    );
    assert_eq!(
        (&row["sized_blocks"], &row["total_blocks"]),
        (&9.into(), &10.into())
    );
    let lifetime = serde_json::json!({
        "mean": (50.0 + 4.0) / 6.0,
        "blocks": 6,
        "freed_elsewhere": 2,
        "freed_elsewhere_share": 0.25,
        "known_share": 0.8,
    });
    assert_eq!(row["lifetime"], lifetime);
    assert_eq!(
        row["checkpoint_live_bytes"],
        serde_json::json!([64, 24 + 48])
    );
    let moment = |time_ns: u64, live_bytes: u64, live_blocks: u64| {
        serde_json::json!({
            "time_ns": time_ns, "kind": "time", "name": null, "live_bytes": live_bytes,
            "live_blocks": live_blocks, "total_bytes": 0,
        })
    };
    let moments = Value::Array(vec![moment(100, 64, 2), moment(200, 24 + 48, 1 + 2)]);
    assert_eq!(json["checkpoints"], moments);
}

#[test]
fn the_text_of_a_site_says_them_as_well() {
    let options = ReportOptions {
        measure: Measure::Total,
        width: 200,
        explain: true,
        ..ReportOptions::default()
    };
    let said = text(&of_two_sites(), &options);
    let expected = "sizes 24 B (7), 33-40 B (2), unknown (1), mean 27 B; lifetime 9.0 allocations (of 80.0 % of freed); freed \
                    elsewhere 25.0 %\n";
    assert!(said.contains(expected), "{said}");
}

#[test]
fn where_nothing_is_known_of_a_sites_blocks_nothing_is_claimed() {
    let mut profile = of_two_sites();
    for site in profile.parts().sites {
        site.distribution = Distribution::default();
    }
    let json = json(&profile, &by(By::Site));
    let row = &json["rows"][0];
    assert_eq!(row["sizes"], Value::Array(Vec::new()));
    assert_eq!(
        (&row["sized_blocks"], &row["lifetime"]),
        (&0.into(), &Value::Null)
    );
    let text = text(&profile, &by(By::Site));
    assert!(
        !text.contains("lifetime 0") && !text.contains("sizes unknown"),
        "{text}"
    );
}
