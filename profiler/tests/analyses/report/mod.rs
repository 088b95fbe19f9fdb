//! Tests text, JSON and rows against the totals, against each other, and with hostile names.

mod arenas;
mod data;
mod held;
mod real;
mod schema;
mod terminal;
mod wasm;

use serde_json::Value;

use heapglass_fixture::{self as fixture, Builder, figures};
use heapglass_profiler::calltree::{CallTree, CallTreeOptions, NodeId, write_folded};
use heapglass_profiler::flamegraph;
use heapglass_profiler::profile::{
    Figures, Frame, FrameId, Frames, FunctionId, Measure, Origin, Profile, ScopeId, StackMarks,
    State, SymbolSource, Thread,
};
use heapglass_profiler::report::*;
use heapglass_profiler::table::{By, Detail, Row, SiteLabel, rows, sites_of};
use heapglass_profiler::units::printable;

fn json(profile: &Profile, options: &ReportOptions<'_>) -> Value {
    let mut out = Vec::new();
    // Tests change profiles between two reports.
    write_json(&profile.clone(), options, &mut out).expect("writing to memory");
    serde_json::from_slice(&out).expect("valid JSON")
}

fn text(profile: &Profile, options: &ReportOptions<'_>) -> String {
    let mut out = Vec::new();
    write_text(&profile.clone(), options, &mut out).expect("writing to memory");
    String::from_utf8(out).expect("text")
}

/// The groupings whose rows add up to the totals: arenas lie inside blocks that are counted
/// already.
fn adding_up() -> impl Iterator<Item = By> {
    By::COUNTED.into_iter().filter(|by| *by != By::Arena)
}

fn sum(rows: &[Row]) -> Figures {
    rows.iter().fold(Figures::default(), |mut sum, row| {
        sum.add(&row.figures);
        sum
    })
}

/// insta's advice names its own tool; we use an alias.
fn golden(name: &str, text: &str) {
    insta::with_settings!({ description => "if the change is right, refresh with: cargo bless", prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!(name, text);
    });
}

#[test]
fn what_was_found_in_a_program_that_was_not_recorded_is_no_exact_peak() {
    let mut profile = fixture::profile();
    let is_said = |profile: &Profile| {
        let mut svg = Vec::new();
        let tree = CallTreeOptions::default();
        flamegraph::write_svg(profile, &tree.into(), &mut svg).expect("writing to memory");
        let svg = String::from_utf8(svg).expect("text");
        let json = json(profile, &ReportOptions::default());
        let text = text(profile, &ReportOptions::default());
        [
            json["exact"] == true,
            text.lines()
                .next()
                .is_some_and(|line| line.contains("peak")),
            svg.contains("exact"),
        ]
    };
    profile.parts().capture.peak_error_bytes = 0;
    assert_eq!(is_said(&profile), [true; 3]);
    profile.parts().process.state = State::NotRecorded;
    assert_eq!(is_said(&profile), [false; 3]);
}

#[test]
fn every_face_adds_up_to_the_same_totals() {
    let profile = fixture::profile();
    for measure in Measure::COUNTED {
        let total = measure.of(profile.totals());
        for by in adding_up() {
            for frames in Frames::ALL {
                let rows = rows(&profile, by, measure, frames);
                assert_eq!(sum(&rows), *profile.totals(), "rows by {}", by.name());
            }
            // Threads have no live bytes.
            let measure = by.measure(measure);
            let total = measure.of(profile.totals());
            let json = json(
                &profile,
                &ReportOptions {
                    by,
                    measure,
                    top: Some(3),
                    ..ReportOptions::default()
                },
            );
            let shown: u64 = json["rows"]
                .as_array()
                .expect("rows")
                .iter()
                .filter_map(|r| r[measure.key()].as_u64())
                .sum();
            assert_eq!(
                shown + json["elided"][measure.key()].as_u64().expect("a figure"),
                total
            );
            assert_eq!(json["totals"][measure.key()], total);
            assert_eq!(json["rows_sum_to_totals"], true);
        }
        for inverted in [false, true] {
            let tree = CallTree::build(
                &profile,
                &CallTreeOptions {
                    inverted,
                    ..Default::default()
                },
            );
            assert_eq!(measure.of(tree.total(NodeId::ROOT)), total);
            let mut folded = Vec::new();
            write_folded(&tree, &profile, measure, &mut folded).expect("writing to memory");
            let folded = String::from_utf8(folded).expect("text");
            let counts = folded
                .lines()
                .filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok());
            assert_eq!(counts.sum::<u64>(), total);
            let mut svg = Vec::new();
            let options = CallTreeOptions {
                measure,
                inverted,
                ..Default::default()
            };
            assert_eq!(
                flamegraph::write_svg(&profile, &options.into(), &mut svg)
                    .expect("drawn")
                    .total,
                total
            );
            assert!(
                String::from_utf8(svg)
                    .expect("text")
                    .contains(&format!("total_samples=\"{total}\""))
            );
        }
    }
}

#[test]
fn the_text_report_by_site_reads_well() {
    let options = ReportOptions {
        recording: Some("cities-4242.hg"),
        top: Some(8),
        ..ReportOptions::default()
    };
    golden("by_site", &text(&fixture::profile(), &options));
}

#[test]
fn the_text_report_by_phase_reads_well_on_a_narrow_terminal() {
    let options = ReportOptions {
        by: By::Phase,
        measure: Measure::Total,
        width: 72,
        ..ReportOptions::default()
    };
    golden("by_phase", &text(&fixture::profile(), &options));
}

#[test]
fn the_text_report_by_thread_reads_well() {
    let options = ReportOptions {
        by: By::Thread,
        measure: Measure::Copied,
        width: 120,
        ..ReportOptions::default()
    };
    golden("by_thread", &text(&fixture::profile(), &options));
}

#[test]
fn the_summary_names_the_top_five_sites_with_their_lines() {
    let mut out = Vec::new();
    write_summary(&fixture::profile(), &ReportOptions::default(), &mut out)
        .expect("writing to memory");
    let text = String::from_utf8(out).expect("text");
    assert_eq!(
        text.lines()
            .filter(|line| line.contains("src/model.rs:"))
            .count(),
        5
    );
    golden("summary", &text);
}

#[test]
fn the_json_report_has_the_fixed_keys() {
    let options = ReportOptions {
        recording: Some("cities-4242.hg"),
        top: Some(2),
        ..ReportOptions::default()
    };
    let mut out = Vec::new();
    let mut profile = fixture::profile();
    profile.parts().timeline.truncate(3);
    write_json(&profile, &options, &mut out).expect("writing to memory");
    golden("json", &String::from_utf8(out).expect("text"));
    let json = json(&profile, &options);
    let fixed =
        "format exact mode unwinder finished command threads peak_error_bytes lost totals rows";
    for key in fixed.split(' ') {
        assert!(json.get(key).is_some(), "{key}");
    }
    let figures = "total_bytes total_blocks freed_bytes freed_blocks live_bytes live_blocks peak_bytes peak_blocks grows \
                   shrinks copied_bytes temporary_blocks temporary_bytes";
    for key in figures.split_whitespace() {
        assert!(
            json["totals"][key].is_u64() && json["rows"][0][key].is_u64(),
            "{key}"
        );
    }
    for key in ["key", "function", "file", "line", "stack"] {
        assert!(json["rows"][0].get(key).is_some(), "{key}");
    }
    let index = |value: &Value| {
        value
            .as_u64()
            .and_then(|at| usize::try_from(at).ok())
            .expect("an index")
    };
    let stack = &json["stacks"][index(&json["rows"][0]["stack"])];
    let outermost = &json["frames"][index(&stack[0])];
    assert_eq!(
        (
            &outermost["function"],
            &outermost["file"],
            &outermost["line"]
        ),
        (&"cities::main".into(), &"src/main.rs".into(), &41.into())
    );
    assert_eq!(json["rows"][0]["stacks"][0], json["rows"][0]["stack"]);
    assert_eq!(
        (&json["exact"], &json["finished"], &json["threads"]),
        (&true.into(), &true.into(), &9.into())
    );
}

#[test]
fn text_summary_and_json_show_the_same_rows_in_the_same_words() {
    for profile in [fixture::profile(), fixture::fleet(), fixture::city_arenas()] {
        let rows = rows(&profile, By::Site, Measure::Peak, Frames::Folded);
        let labels: Vec<&SiteLabel> = rows
            .iter()
            .filter_map(|row| match &row.detail {
                Detail::Site(detail) => Some(&detail.label),
                _ => None,
            })
            .collect();
        let wide = ReportOptions {
            width: 400,
            ..ReportOptions::default()
        };
        let json = json(&profile, &wide);
        let listed = json["rows"].as_array().expect("rows");
        assert_eq!(listed.len(), labels.len());
        for (row, label) in listed.iter().zip(&labels) {
            let said = ["what", "where", "owner", "source"].map(|key| row[key].as_str());
            let source = label.source.as_deref();
            let expected = [
                Some(label.what.as_str()),
                Some(&label.location),
                Some(&label.owner),
                source,
            ];
            assert_eq!(said, expected);
        }
        let mut summary = Vec::new();
        write_summary(&profile, &wide, &mut summary).expect("writing to memory");
        let summary = String::from_utf8(summary).expect("text");
        let report = text(&profile, &wide);
        for (shown, most) in [(&summary, 5), (&report, DEFAULT_TOP)] {
            let lines: Vec<&str> = shown.lines().collect();
            let head = lines
                .iter()
                .position(|line| line.trim_start().starts_with("share"));
            let first = head.expect("a table") + 1;
            let weighty = rows.iter().filter(|row| row.figures.peak_bytes > 0).count();
            for (line, label) in lines[first..].iter().zip(&labels).take(most.min(weighty)) {
                let parts = [&label.what, &label.location, &label.owner_and_source()]
                    .map(|part| printable(part).into_owned());
                let at = parts.each_ref().map(|part| line.find(part.as_str()));
                assert!(at.iter().all(Option::is_some), "{parts:?} in {line}");
                assert!(at[0] <= at[1] && at[1] <= at[2], "{parts:?} in {line}");
            }
        }
        // No two rows look the same to a reader.
        let mut seen: Vec<&&SiteLabel> = labels.iter().collect();
        seen.sort_by_key(|label| (&label.what, &label.location, label.owner_and_source()));
        assert!(seen.windows(2).all(|pair| pair[0] != pair[1]));
    }
}

#[test]
fn the_sites_of_a_row_come_to_what_the_row_says() {
    for profile in [fixture::profile(), fixture::fleet()] {
        for (by, frames) in [By::Owner, By::Function, By::Crate, By::Module]
            .into_iter()
            .flat_map(|by| Frames::ALL.map(|frames| (by, frames)))
        {
            for row in rows(&profile, by, Measure::Peak, frames) {
                let members = sites_of(&profile, by, &row.key, frames);
                let mut sum = Figures::default();
                let sites = profile.sites().iter().zip(&members);
                for (site, _) in sites.filter(|(_, member)| **member) {
                    sum.add(&site.figures);
                }
                let expected = match &row.detail {
                    Detail::Function(detail) if detail.function.is_some() => {
                        detail.inclusive.clone()
                    }
                    _ => row.figures,
                };
                assert_eq!(sum, expected, "{} {}", by.name(), row.key);
            }
            let nobody = sites_of(&profile, by, "nobody", frames);
            assert_eq!(nobody, vec![false; profile.sites().len()]);
        }
    }
}

#[test]
fn folded_what_containers_do_is_of_the_function_that_asked() {
    let profile = fixture::profile();
    let own = |frames| {
        let rows = rows(&profile, By::Function, Measure::Total, frames).into_iter();
        let std = rows.filter(|row| match &row.detail {
            Detail::Function(detail) => detail.origin == Origin::Std && row.figures.total_bytes > 0,
            _ => false,
        });
        std.map(|row| row.key).collect::<Vec<_>>()
    };
    assert!(!own(Frames::All).is_empty());
    // The remaining rows have only the standard library on their stacks.
    for key in own(Frames::Folded) {
        let sites = sites_of(&profile, By::Function, &key, Frames::Folded);
        let asked = profile.sites().iter().zip(sites).any(|(site, member)| {
            let frames = profile.shown_stack(site);
            let mut others = frames
                .iter()
                .filter_map(|id| profile.lookup(*id))
                .map(|(_, function)| function.origin);
            member && others.any(|origin| origin != Origin::Std)
        });
        assert!(!asked, "{key}");
    }
}

#[test]
fn every_grouping_of_functions_adds_up_and_inclusive_is_never_less_than_own() {
    for profile in [fixture::profile(), fixture::fleet()] {
        for row in rows(&profile, By::Function, Measure::Peak, Frames::Folded) {
            let Detail::Function(detail) = &row.detail else {
                panic!("a function");
            };
            for measure in Measure::COUNTED {
                assert!(
                    measure.of(&row.figures) <= measure.of(&detail.inclusive)
                        || row.key == "(no stack)"
                );
            }
            for part in detail.callers.iter().chain(&detail.callees) {
                let inclusive = detail.inclusive.total_bytes;
                assert!(
                    part.figures.total_bytes <= inclusive,
                    "{} {}",
                    row.key,
                    part.key
                );
            }
        }
        let main = rows(&profile, By::Function, Measure::Total, Frames::Folded)
            .into_iter()
            .filter_map(|row| match row.detail {
                Detail::Function(detail) if row.key.ends_with("::main") => Some(detail.inclusive),
                _ => None,
            })
            .next();
        let through: u64 = profile
            .sites()
            .iter()
            .filter(|site| {
                profile
                    .shown_stack(site)
                    .iter()
                    .any(|&id| profile.function(id).name.ends_with("::main"))
            })
            .map(|site| site.figures.total_bytes)
            .sum();
        assert_eq!(main.map(|main| main.total_bytes), Some(through));
    }
}

#[test]
fn json_has_every_row_unless_told_otherwise_and_counts_the_rest() {
    let profile = fixture::profile();
    let all = json(&profile, &ReportOptions::default());
    assert_eq!(all["rows"].as_array().map(Vec::len), Some(41));
    assert_eq!(all["elided"]["rows"], 0);
    let some = json(
        &profile,
        &ReportOptions {
            top: Some(5),
            ..ReportOptions::default()
        },
    );
    assert_eq!(
        (
            some["rows"].as_array().map(Vec::len),
            &some["elided"]["rows"]
        ),
        (Some(5), &36.into())
    );
    let more = json(
        &profile,
        &ReportOptions {
            top: Some(500),
            ..ReportOptions::default()
        },
    );
    assert_eq!(more["rows"], all["rows"]);
}

#[test]
fn rows_are_ordered_by_the_measure() {
    let profile = fixture::profile();
    for measure in Measure::COUNTED {
        let rows = rows(&profile, By::Site, measure, Frames::Folded);
        assert!(
            rows.windows(2)
                .all(|pair| measure.of(&pair[0].figures) >= measure.of(&pair[1].figures))
        );
    }
}

#[test]
fn sites_that_look_the_same_are_one_row_until_all_frames_are_kept() {
    let mut b = Builder::new();
    let main = b.function("app::main", "app", Origin::User);
    let main = b.frame(main, Some("src/main.rs"), 3);
    let (alloc, realloc) = (
        b.function("__rust_alloc", "", Origin::Std),
        b.function("__rust_realloc", "", Origin::Std),
    );
    let (alloc, realloc) = (b.frame(alloc, None, 0), b.frame(realloc, None, 0));
    let other_address = FrameId(b.parts().frames.len() as u32);
    b.parts().frames.push(fixture::made!(Frame {
        function: FunctionId(0),
        file: Some("src/main.rs".into()),
        line: Some(3),
        offset: 0x99,
    }));
    let phase = b.scope(0, "load", 0, 0);
    b.site(&[main, alloc], ScopeId(0), figures(1, 10, 1)).shown = 0..1;
    b.site(&[other_address, realloc], ScopeId(0), figures(1, 5, 1))
        .shown = 0..1;
    b.site(&[main, alloc], phase, figures(1, 2, 1)).shown = 0..1;
    b.site(&[main, alloc], ScopeId(0), figures(1, 1, 1)).marks =
        fixture::made!(StackMarks { cut: true });
    let profile = b.build();
    let live = |frames| -> Vec<u64> {
        rows(&profile, By::Site, Measure::Live, frames)
            .iter()
            .map(|row| row.figures.live_bytes)
            .collect()
    };
    assert_eq!(
        live(Frames::Folded),
        [15, 2, 1],
        "a phase and a cut stack stay apart"
    );
    assert_eq!(live(Frames::All), [10, 5, 2, 1]);
}

#[test]
fn nested_phases_add_up_alone_and_with_what_is_inside() {
    let profile = fixture::profile();
    let json = json(
        &profile,
        &ReportOptions {
            by: By::Phase,
            measure: Measure::Total,
            ..ReportOptions::default()
        },
    );
    let row = |key: &str| {
        json["rows"]
            .as_array()
            .expect("rows")
            .iter()
            .find(|r| r["key"] == key)
            .expect("the phase")
    };
    let total = |value: &Value| value["total_bytes"].as_u64().expect("a figure");
    let inner = total(row("load > parse"));
    assert_eq!(
        total(&row("load")["with_inner"]),
        total(row("load")) + inner
    );
    assert_eq!(
        total(&row("(no phase)")["with_inner"]),
        profile.totals().total_bytes
    );
    assert_eq!(
        (&row("load")["input_bytes"], &row("load")["records"]),
        (&6_300_000.into(), &20_000.into())
    );
}

#[test]
fn rows_by_thread_have_no_live_bytes_and_no_share_above_the_whole() {
    let mut profile = fixture::profile();
    // One thread passes its blocks to another, which frees them.
    let one = |name: &str, total_bytes, freed_bytes| {
        fixture::made!(Thread {
            name: name.into(),
            count: 1,
            figures: fixture::made!(Figures {
                total_bytes,
                freed_bytes,
            }),
        })
    };
    let total = profile.totals().total_bytes;
    *profile.parts().threads = vec![
        one("maker", total, 0),
        one("main", 0, profile.totals().freed_bytes),
    ];
    for measure in [Measure::Peak, Measure::Live] {
        let options = ReportOptions {
            by: By::Thread,
            measure,
            ..ReportOptions::default()
        };
        let text = text(&profile, &options);
        assert!(text.contains("Threads by bytes allocated"), "{text}");
        assert!(text.contains("live bytes belong to no thread"), "{text}");
        let json = json(&profile, &options);
        assert_eq!(json["measure"], "total");
        for row in json["rows"].as_array().expect("rows") {
            assert!(row["share"].as_f64() <= Some(1.0), "{row}");
            for key in ["live_bytes", "live_blocks", "peak_bytes", "peak_blocks"] {
                assert!(row[key].is_null(), "{key} of {row}");
            }
        }
    }
}

#[test]
fn the_realloc_policy_stands_where_single_sites_are_shown() {
    let profile = fixture::profile();
    let flat = |by| {
        text(
            &profile,
            &ReportOptions {
                by,
                explain: true,
                ..ReportOptions::default()
            },
        )
        .replace("\n ", "")
        .replace("  ", " ")
    };
    assert!(flat(By::Site).contains("dhat-rs and heapscope leave it at the first site"));
    assert!(!flat(By::Phase).contains("dhat-rs"));
    let json = json(&profile, &ReportOptions::default());
    let note = json["notes"][0].as_str().expect("a note");
    assert!(note.starts_with("A reallocated block moves, with its new size, to the site that"));
}

#[test]
fn the_peak_is_never_shown_without_its_bound() {
    let mut profile = fixture::profile();
    let wide = ReportOptions {
        width: 200,
        ..ReportOptions::default()
    };
    assert!(text(&profile, &wide).contains("within 128.0 KiB; measured discrepancy 4.0 KiB"));
    profile.parts().capture.peak_error_bytes = 0;
    profile.parts().capture.peak_discrepancy_bytes = 0;
    assert!(text(&profile, &ReportOptions::default()).contains("(exact)"));
    profile.parts().process.state = State::Running;
    assert!(text(&profile, &ReportOptions::default()).contains("peak so far"));
}

#[test]
fn every_kind_of_loss_is_a_sentence() {
    let clean = Profile::default();
    assert!(clean.losses().is_empty());
    let mut profile = Profile::default();
    let lost = profile.parts().lost;
    let counters = [
        &mut lost.table_full_blocks,
        &mut lost.untracked_blocks,
        &mut lost.unattributed_blocks,
        &mut lost.unknown_frees,
        &mut lost.cut_stacks,
        &mut lost.foreign_stacks,
        &mut lost.deep_stacks,
        &mut lost.folded_stacks,
        &mut lost.marks,
        &mut lost.torn,
        &mut lost.unresolved_frames,
    ];
    let kinds = counters.len();
    for (i, counter) in counters.into_iter().enumerate() {
        *counter = 1_001 + i as u64;
    }
    lost.notes = vec!["the disk was full".into()];
    profile
        .parts()
        .modules
        .push(fixture::made!(heapglass_profiler::profile::Module {
            path: "/usr/lib/x.so".into(),
            build_id: String::new(),
            symbols: SymbolSource::Missing("it is gone".into()),
        }));
    // Code that was made at run time is in no file, and nobody can give it symbols.
    profile
        .parts()
        .modules
        .push(fixture::made!(heapglass_profiler::profile::Module {
            symbols: SymbolSource::Missing("its path is not in the recording".into()),
        }));
    let sentences = profile.losses();
    assert_eq!(sentences.len(), kinds + 2);
    let mut broken = profile.clone();
    broken.parts().lost.damaged = 1_234;
    let first = &broken.losses()[1];
    assert!(
        first.starts_with("The recording is damaged: 1,234 records"),
        "{first}"
    );
    for i in 0..kinds {
        assert!(
            sentences
                .iter()
                .any(|s| s.starts_with(&format!("1,{:03} ", 1 + i))),
            "{sentences:#?}"
        );
    }
    assert!(
        sentences
            .iter()
            .all(|s| s.ends_with('.') && !s.ends_with(".."))
    );
    assert!(sentences.contains(&"The disk was full.".to_owned()));
    assert!(sentences.contains(&"No symbols for /usr/lib/x.so: it is gone.".to_owned()));
}

#[test]
fn what_the_allocator_did_not_see_comes_from_one_reading() {
    let profile = fixture::profile();
    let at = profile.resident().expect("the timeline has resident sizes");
    let point = profile
        .timeline()
        .iter()
        .find(|point| point.time_ns == at.time_ns)
        .expect("a point of the timeline");
    assert_eq!(
        (at.rss_bytes, at.live_bytes),
        (point.rss_bytes, point.live_bytes)
    );
    assert_eq!(at.not_seen_bytes(), Some(4_800_000));
    let untouched = fixture::made!(heapglass_profiler::profile::TimelinePoint {
        rss_bytes: 10,
        live_bytes: 20,
        ..at
    });
    assert_eq!(untouched.not_seen_bytes(), None);
    assert_eq!(Profile::default().resident(), None);
}

#[test]
fn an_empty_profile_has_a_report() {
    for by in By::COUNTED {
        let options = ReportOptions {
            by,
            ..ReportOptions::default()
        };
        assert!(text(&Profile::default(), &options).contains("(unknown program)"));
        assert_eq!(
            json(&Profile::default(), &options)["totals"]["total_bytes"],
            0
        );
    }
}

#[test]
fn nothing_of_a_program_that_runs_is_at_its_exit() {
    let mut profile = fixture::profile();
    profile.parts().process.state = State::Running;
    let options = ReportOptions {
        measure: Measure::Live,
        ..ReportOptions::default()
    };
    let text = text(&profile, &options);
    assert!(text.contains("Sites by bytes live now"), "{text}");
    assert!(!text.contains("exit"), "{text}");
}
