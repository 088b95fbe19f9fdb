//! Findings of made profiles and of real programs. Whether a predicted saving is what a program
//! saves is tested on programs: `examples/tests/recorded/advice.rs`.

use heapglass_fixture::{Builder, append, made, real, recording};
use heapglass_profiler::advice::{
    Advice, Confidence, Finding, Kind, SavesOf, advice, advise, write_json, write_summary,
    write_text,
};
use heapglass_profiler::profile::{
    Contents, Distribution, FailedRequest, Figures, FrameId, Origin, Profile, ScopeId, State,
    Thread,
};
use heapglass_profiler::report::{ReportOptions, plain};
use heapglass_profiler::{OpenOptions, open};
use serde_json::{Value, json};

/// A program of one site, which asks for blocks of a type itself.
fn of_site(type_name: &str, origin: Origin, figures: Figures, sizes: &[(u64, u64)]) -> Builder {
    let mut b = Builder::new();
    let main = b.function("app::main", "app", Origin::User);
    let main = b.frame(main, Some("src/main.rs"), 7);
    let asking = b.function("app_or_library::fill", "app", origin);
    let asking = b.frame(asking, Some("src/fill.rs"), 12);
    let push = b.function("alloc::vec::Vec<T>::push", "alloc", Origin::Std);
    let push = b.frame(push, Some("library/alloc/src/vec/mod.rs"), 1);
    let container = b.value_type(type_name);
    add_site(&mut b, &[main, asking, push], container, figures, sizes);
    b.parts().threads.push(made!(Thread {
        name: "main".into(),
        count: 1,
    }));
    b
}

fn add_site(
    b: &mut Builder,
    stack: &[FrameId],
    container: heapglass_profiler::profile::TypeId,
    figures: Figures,
    sizes: &[(u64, u64)],
) {
    let mut distribution = Distribution::default();
    for (bytes, blocks) in sizes {
        distribution.add_blocks(*bytes, *blocks);
    }
    let site = b.site(stack, ScopeId(0), Figures::default());
    site.figures = figures.clone();
    site.contents = Some(made!(Contents { container }));
    site.distribution = distribution;
    b.parts().totals.add(&figures);
}

fn kinds(profile: &Profile, all: bool) -> Vec<Kind> {
    let findings = advise(profile, all);
    findings.iter().map(|finding| finding.kind).collect()
}

fn growth() -> Figures {
    made!(Figures {
        total_bytes: 2_000_000,
        total_blocks: 20,
        freed_bytes: 2_000_000,
        freed_blocks: 20,
        peak_bytes: 1_500_000,
        peak_blocks: 1,
        grows: 17,
        copied_bytes: 900_000,
    })
}

const VEC: &str = "alloc::vec::Vec<u64>";

#[test]
fn a_list_that_the_program_fills_wants_a_capacity_and_one_of_a_library_does_not() {
    let own = of_site(VEC, Origin::User, growth(), &[(1 << 20, 20)]).build();
    let findings = advise(&own, false);
    let [finding] = findings.as_slice() else {
        panic!("{findings:#?}");
    };
    assert_eq!(finding.kind, Kind::MissingCapacity);
    assert_eq!((finding.saves_bytes, finding.saves_blocks), (900_000, 17));
    assert!(finding.remedy.contains("Vec::with_capacity(n)"));
    let library = of_site(VEC, Origin::Dependency, growth(), &[(1 << 20, 20)]).build();
    assert_eq!(kinds(&library, true), []);
    // A table grows by a new block.
    let map = "std::collections::hash::map::HashMap<u8, u8>";
    let map = of_site(map, Origin::User, growth(), &[(1 << 20, 20)]).build();
    assert_eq!(kinds(&map, true), []);
}

#[test]
fn small_findings_are_listed_on_demand() {
    let small = made!(Figures {
        copied_bytes: 60_000,
        ..growth()
    });
    let profile = of_site(VEC, Origin::User, small, &[]).build();
    assert_eq!(kinds(&profile, false), []);
    assert_eq!(kinds(&profile, true), [Kind::MissingCapacity]);
    // More than 64 KiB, less than 1 % of all bytes allocated.
    let large = made!(Figures {
        total_bytes: 1 << 40,
        ..growth()
    });
    let profile = of_site(VEC, Origin::User, large, &[]).build();
    assert_eq!(kinds(&profile, false), []);
}

#[test]
fn each_thread_keeps_a_buffer_of_its_own() {
    let figures = made!(Figures {
        total_bytes: 100_000 * 32,
        total_blocks: 100_000,
        freed_bytes: 100_000 * 32,
        freed_blocks: 100_000,
        temporary_blocks: 100_000,
        temporary_bytes: 100_000 * 32,
    });
    let mut b = of_site(VEC, Origin::User, figures, &[(32, 100_000)]);
    let finding = &advise(&b.clone().build(), false)[0];
    assert_eq!(finding.kind, Kind::Temporary);
    assert_eq!(finding.confidence, Confidence::Exact);
    assert_eq!(finding.saves_bytes, 99_999 * 32);
    b.parts().threads.push(made!(Thread { count: 49_999 }));
    let finding = &advise(&b.clone().build(), false)[0];
    assert_eq!(finding.confidence, Confidence::AtLeast);
    assert_eq!(
        (finding.saves_bytes, finding.saves_blocks),
        (50_000 * 32, 50_000)
    );
    // Short-lived threads, one block each.
    b.parts().threads.push(made!(Thread { count: 50_000 }));
    assert_eq!(kinds(&b.build(), true), []);
}

/// A program with these live bytes at its checkpoints, which are a tenth of a second apart, and at
/// its end.
fn growing(live: &[u64], end: u64, seconds: u64) -> Profile {
    growing_at(
        100_000_000,
        live,
        end,
        seconds * 1_000_000_000 + 100_000_000,
    )
}

fn growing_at(pace_ns: u64, live: &[u64], end: u64, duration_ns: u64) -> Profile {
    let figures = made!(Figures {
        total_bytes: 1 << 30,
        total_blocks: 1 << 20,
        live_bytes: end,
        live_blocks: end / 1024,
        peak_bytes: 1 << 24,
        peak_blocks: 1 << 14,
    });
    let mut b = of_site(VEC, Origin::User, figures, &[]);
    let parts = b.parts();
    parts.process.duration_ns = duration_ns;
    for (at, bytes) in (1..).zip(live) {
        // A tenth of what the process allocates, whatever the time.
        let allocated = at * ((1 << 30) / 11);
        b.checkpoint_after(allocated, at * pace_ns, &[(*bytes, bytes / 1024)]);
    }
    b.build()
}

#[test]
fn growth_counts_only_if_it_goes_on_over_most_of_the_run() {
    let steady: Vec<u64> = (1..=10).map(|at| at << 20).collect();
    let profile = growing(&steady, 11 << 20, 1);
    let findings = advise(&profile, false);
    assert_eq!(findings[0].kind, Kind::Growing);
    // Of the last three fifths of what was allocated.
    assert_eq!(findings[0].saves_bytes, 7 << 20);
    assert_eq!(findings[0].saves_blocks, 7 << 10);
    assert_eq!(advice(&profile, true).grew, []);
    // All is freed when the program stops: the same as of a program that loads and ends.
    let stopped = growing(&steady, 0, 1);
    assert_eq!(kinds(&stopped, true), []);
    let grown = &advice(&stopped, false).grew[0];
    assert_eq!(
        (grown.from_bytes, grown.until_bytes, grown.freed_bytes),
        (4 << 20, 10 << 20, 10 << 20)
    );
    let said = text(&stopped, &[], 80);
    assert!(
        said.contains("6.0 MiB of Vec<u64> until 1.00 s, then freed"),
        "{said}"
    );
    // In a short run too, which is no finding.
    let short = |end| growing_at(30_000_000, &steady, end, 330_000_000);
    assert_eq!(kinds(&short(11 << 20), true), []);
    assert_eq!(advice(&short(0), false).grew.len(), 1);
    let none = |live: &[u64], end, seconds| {
        assert_eq!(kinds(&growing(live, end, seconds), true), [], "{live:?}");
    };
    none(&steady, 11 << 20, 0);
    // Nothing happened for the last nine seconds.
    none(&steady, 11 << 20, 10);
    none(&steady[..5], 11 << 20, 1);
    let loaded: Vec<u64> = (1..=10).map(|at| at.min(6) << 20).collect();
    none(&loaded, 6 << 20, 1);
    let slowing: Vec<u64> = (0..10).map(|at| (1 << 24) - ((1 << 24) >> at)).collect();
    none(&slowing, 1 << 24, 1);
}

#[test]
fn tables_that_double_grow_with_what_grows_beside_them() {
    let recorded = |rows_at: &dyn Fn(u64) -> u64| {
        let figures = made!(Figures {
            total_bytes: 1 << 29,
            total_blocks: 1 << 20,
            live_bytes: rows_at(11),
            live_blocks: 1 << 10,
            peak_bytes: 1 << 24,
            peak_blocks: 1 << 14,
        });
        let table = made!(Figures {
            live_bytes: 16 << 20,
            live_blocks: 1,
            ..figures.clone()
        });
        let mut b = of_site(VEC, Origin::User, figures, &[]);
        let main = b.function("app::main", "app", Origin::User);
        let main = b.frame(main, Some("src/main.rs"), 3);
        let fill = b.function("app_or_library::fill", "app_or_library", Origin::User);
        let fill = b.frame(fill, Some("src/fill.rs"), 12);
        let map = b.value_type("std::collections::hash::map::HashMap<u64, u64>");
        add_site(&mut b, &[main, fill], map, table, &[]);
        b.parts().process.duration_ns = 1_100_000_000;
        for at in 1..=10_u64 {
            let held = [(rows_at(at), 1 << 10), (at.next_power_of_two() << 20, 1)];
            b.checkpoint_after(at * ((1 << 30) / 11), at * 100_000_000, &held);
        }
        b.build()
    };
    let findings = advise(&recorded(&|at| at << 20), true);
    let grown: Vec<(Kind, u64)> = findings
        .iter()
        .map(|finding| (finding.kind, finding.saves_bytes))
        .collect();
    assert_eq!(grown, [(Kind::Growing, 15 << 20), (Kind::Growing, 7 << 20)]);
    // Alone, it may be a table that is filled once.
    assert_eq!(kinds(&recorded(&|_| 1 << 20), true), []);
}

#[test]
fn what_a_large_table_allocates_at_once_is_no_step_of_growth() {
    let table_at = |at: u64| at.next_power_of_two() << 22;
    // 2 MiB are allocated from one moment to the next, and what the table needs for itself.
    let allocated_at = |at: u64| {
        let tables = (1..=at).filter(|at| (at - 1).is_power_of_two() || *at == 1);
        (at << 21) + tables.map(table_at).sum::<u64>()
    };
    let rows = made!(Figures {
        total_bytes: 11 << 21,
        total_blocks: 1 << 20,
        live_bytes: 11 << 20,
        live_blocks: 1 << 10,
        peak_bytes: 11 << 20,
        peak_blocks: 1 << 10,
    });
    let table = made!(Figures {
        total_bytes: allocated_at(11) - (11 << 21),
        total_blocks: 5,
        live_bytes: table_at(11),
        live_blocks: 1,
        peak_bytes: table_at(11),
        peak_blocks: 1,
    });
    let mut b = of_site(VEC, Origin::User, rows, &[]);
    let main = b.function("app::main", "app", Origin::User);
    let main = b.frame(main, Some("src/main.rs"), 3);
    let map = b.value_type("std::collections::hash::map::HashMap<u64, u64>");
    add_site(&mut b, &[main], map, table, &[]);
    b.parts().process.duration_ns = 1_100_000_000;
    for at in 1..=10_u64 {
        let held = [(at << 20, 1 << 10), (table_at(at), 1)];
        b.checkpoint_after(allocated_at(at), at * 100_000_000, &held);
    }
    let findings = advise(&b.build(), true);
    let grown: Vec<u64> = findings
        .iter()
        .filter(|finding| finding.kind == Kind::Growing)
        .map(|finding| finding.saves_bytes)
        .collect();
    // The last three fifths of 26 MiB: the first table was there from the start.
    assert_eq!(grown, [8 << 20]);
}

#[test]
fn blocks_that_replace_those_of_another_place_do_not_grow() {
    let at_the_end = |live: u64| {
        made!(Figures {
            total_bytes: 1 << 30,
            total_blocks: 1 << 20,
            live_bytes: live,
            live_blocks: live / 1024,
            peak_bytes: 1 << 24,
            peak_blocks: 1 << 14,
        })
    };
    // A queue was filled at one place. The other one puts back what it takes from the front.
    let recorded = |filled_with: &str| {
        let mut b = of_site(VEC, Origin::User, at_the_end(11 << 20), &[]);
        let main = b.function("app::main", "app", Origin::User);
        let main = b.frame(main, Some("src/main.rs"), 3);
        let fill = b.function("app::start", "app", Origin::User);
        let fill = b.frame(fill, Some("src/main.rs"), 5);
        let container = b.value_type(filled_with);
        let figures = at_the_end(1 << 20);
        add_site(&mut b, &[main, fill], container, figures, &[]);
        b.parts().process.duration_ns = 1_100_000_000;
        for at in 1..=10 {
            let (new, old) = (at << 20, (12 - at) << 20);
            let held = [(new, new / 1024), (old, old / 1024)];
            b.checkpoint_after(at * ((2 << 30) / 11), at * 100_000_000, &held);
        }
        b.build()
    };
    assert_eq!(kinds(&recorded(VEC), true), []);
    // What other types give up is no reason.
    assert_eq!(
        kinds(&recorded("alloc::string::String"), true),
        [Kind::Growing]
    );
}

#[test]
fn a_refused_request_is_first_and_says_that_the_program_ended() {
    let mut b = of_site(VEC, Origin::User, growth(), &[]);
    let parts = b.parts();
    parts.process.state = State::Ended;
    parts.failed_requests.push(made!(FailedRequest {
        site: 0_usize,
        count: 3,
        largest_bytes: 1 << 50,
    }));
    parts.failed_requests.push(made!(FailedRequest {
        site: 99_usize,
        count: 1,
    }));
    let findings = advise(&b.build(), false);
    assert_eq!(findings[0].kind, Kind::FailedRequest);
    assert_eq!(findings[0].of_bytes, 1 << 50);
    assert!(
        findings[0].why.contains("3 requests"),
        "{}",
        findings[0].why
    );
    assert!(findings[0].why.contains("ended"), "{}", findings[0].why);
}

#[test]
fn nothing_overflows() {
    let most = made!(Figures {
        total_bytes: u64::MAX,
        total_blocks: u64::MAX,
        live_bytes: u64::MAX,
        live_blocks: u64::MAX,
        peak_bytes: u64::MAX,
        peak_blocks: u64::MAX,
        grows: u64::MAX,
        copied_bytes: u64::MAX,
        temporary_blocks: u64::MAX,
        temporary_bytes: u64::MAX,
    });
    let tree = "alloc::collections::btree::map::BTreeMap<alloc::string::String, x::Value>";
    let content = "alloc::vec::Vec<serde_core::private::content::Content>";
    for name in [VEC, "alloc::string::String", tree, content] {
        let mut b = of_site(
            name,
            Origin::User,
            most.clone(),
            &[(u64::MAX, u64::MAX), (8, 1)],
        );
        let parts = b.parts();
        let frames: Vec<FrameId> = (0..3).map(FrameId).collect();
        parts.process.duration_ns = u64::MAX;
        parts.threads[0].count = u64::MAX;
        for time_ns in 0..12 {
            b.checkpoint(time_ns, &[(time_ns, 1), (u64::MAX, u64::MAX)]);
        }
        let container = b.value_type(name);
        add_site(&mut b, &frames, container, most.clone(), &[(8, u64::MAX)]);
        let profile = b.build();
        let findings = advise(&profile, true);
        text(&profile, &findings, 40);
        // Fields of that many entries take more than the largest figure.
        assert_eq!(findings.is_empty(), name == tree, "{name}");
    }
}

/// Returns the advice for a profile with these findings alone.
fn with_findings(profile: &Profile, findings: &[Finding]) -> Advice {
    Advice {
        findings: findings.to_vec(),
        ..advice(profile, false)
    }
}

fn text(profile: &Profile, findings: &[Finding], width: usize) -> String {
    let options = made!(ReportOptions<'_> { width, paint: plain });
    let mut text = Vec::new();
    let advice = with_findings(profile, findings);
    write_text(profile, &advice, false, &options, &mut text).unwrap();
    text.push(b'\n');
    write_summary(profile, &advice, &options, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

#[test]
fn names_are_harmless_and_lines_no_wider_than_the_terminal() {
    let name = format!("alloc::vec::Vec<\u{1b}[31m{}>", "long::".repeat(40));
    let profile = of_site(&name, Origin::User, growth(), &[]).build();
    let findings = advise(&profile, false);
    for width in [40, 80] {
        let text = text(&profile, &findings, width);
        assert!(!text.contains('\u{1b}'), "{text}");
        assert!(text.contains("src/fill.rs:12"), "{text}");
        let widest = text.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(width), "{text}");
    }
    let mut json = Vec::new();
    write_json(&with_findings(&profile, &findings), &mut json).unwrap();
    assert!(!json.contains(&0x1b));
}

#[test]
fn real_programs_get_findings_that_are_true_of_them() {
    for name in ["demo", "server", "shop", "shop-profiled"] {
        let profile = real(name);
        let findings = advise(&profile, false);
        insta::assert_snapshot!(name, text(&profile, &findings, 80));
    }
    let guide = include_str!("../../../docs/src/advice.md");
    let demo = real("demo");
    let quoted = text(&demo, &advise(&demo, false)[..1], 80);
    let (quoted, _) = quoted.split_once("\n\n").unwrap();
    assert!(guide.contains(quoted), "the guide quotes\n{quoted}");
    for name in ["jaq", "rg"] {
        assert_eq!(kinds(&real(name), false), [], "{name}");
    }
}

#[test]
fn the_json_has_the_documented_keys() {
    let profile = of_site(VEC, Origin::User, growth(), &[(1 << 20, 20)]).build();
    let mut json = Vec::new();
    write_json(&advice(&profile, false), &mut json).unwrap();
    insta::assert_snapshot!("json", String::from_utf8(json).unwrap());
}

/// The recording of the shop with snapshots of such figures: label, live bytes, figures of a site
/// with lists, and blocks that nothing reached.
fn shop_with(snapshots: &[(&str, u64, Value, Value)]) -> Profile {
    let file = recording("shop");
    let number = number_of_list();
    let later = (0..snapshots.len() as u64).rev();
    let snapshots: Vec<Value> = snapshots
        .iter()
        .zip(later)
        .map(|((label, live, figures, not_reached), later)| {
            json!({
                "moment": {
                    "label": label, "time_ns": 92_100_000 - later * 30_000_000, "live_bytes": live,
                    "live_blocks": 9, "pause_ns": 1,
                },
                "sites": [[number, figures], [null, figures]],
                "not_reached": not_reached,
                "usable": {"allocator": "glibc"},
            })
        })
        .collect();
    append(file.as_ref(), &json!({"format": 1, "snapshots": snapshots}));
    open(file.as_ref(), &OpenOptions::default(), &|_| ()).expect("a recording")
}

/// The number of the site of the products.
fn number_of_list() -> u32 {
    let shop = real("shop");
    let is_list = |number: &u32| {
        let site = shop.site_of_number(*number).map(|site| &shop.sites()[site]);
        site.is_some_and(|site| shop.type_key(shop.type_id_of(site)) == "Vec<Product>")
    };
    (0..1 << 16).find(is_list).expect("a site")
}

fn of_snapshots(profile: &Profile, all: bool) -> Vec<Finding> {
    let mut findings = advise(profile, all);
    findings.retain(|finding| finding.snapshot.is_some());
    findings
}

#[test]
fn findings_are_from_the_snapshot_with_most_live_bytes_and_from_the_last() {
    let figures = |unused: u64| {
        json!({
            "blocks": 3, "bytes": 1 << 22, "known_bytes": 1 << 22, "unused_bytes": unused,
            "empty_blocks": 1, "empty_bytes": 1 << 20,
        })
    };
    let profile = shop_with(&[
        ("first", 8 << 20, figures(7), json!([])),
        ("loaded", 9 << 20, figures(3 << 20), json!([])),
        ("exit", 1 << 20, figures(7), json!([])),
    ]);
    let findings = of_snapshots(&profile, false);
    let [empty, unused] = findings.as_slice() else {
        panic!("{findings:#?}");
    };
    assert_eq!(unused.kind, Kind::UnusedCapacity);
    assert_eq!((unused.saves_bytes, unused.saves_blocks), (2 << 20, 0));
    assert_eq!(empty.kind, Kind::EmptyContainer);
    assert_eq!((empty.saves_bytes, empty.saves_blocks), (1 << 20, 1));
    let moment = unused.snapshot.as_ref().expect("a moment");
    assert_eq!(
        (moment.label.as_str(), moment.live_bytes),
        ("loaded", 9 << 20)
    );
    let text = text(&profile, &findings, 80);
    let words: Vec<&str> = text.split_whitespace().collect();
    let text = words.join(" ");
    assert!(text.contains("22.2 % of 9.0 MiB live at 62.1 ms"), "{text}");
    assert!(
        text.contains("Findings at 62.1 ms are from snapshot loaded: 9.0 MiB live"),
        "{text}"
    );
    assert!(text.contains("At 62.1 ms: 66.7 % of 3.0 MiB"), "{text}");
    let mut json = Vec::new();
    write_json(&with_findings(&profile, &findings), &mut json).expect("written");
    let json: Value = serde_json::from_slice(&json).expect("JSON");
    assert_eq!(json["format"], 1);
    assert_eq!(json["findings"][1]["snapshot"]["label"], "loaded");
    assert_eq!(json["findings"][1]["snapshot"]["time_ns"], 62_100_000);
}

#[test]
fn what_stays_comes_first_and_equal_findings_come_once() {
    let figures = |unused: u64, empty: u64| {
        json!({
            "blocks": 3, "bytes": 1 << 22, "known_bytes": 1 << 22, "unused_bytes": unused,
            "empty_blocks": 1, "empty_bytes": empty,
        })
    };
    let found = |at_exit: Value| {
        let profile = shop_with(&[
            ("loaded", 20 << 20, figures(3 << 20, 1 << 20), json!([])),
            ("exit", 8 << 20, at_exit, json!([])),
        ]);
        let found = of_snapshots(&profile, false).into_iter().map(|finding| {
            let label = finding.snapshot.as_ref().map(|of| of.label.clone());
            (finding.kind, label.unwrap(), finding.saves_of().unwrap())
        });
        found.collect::<Vec<_>>()
    };
    let (loaded, exit) = ("loaded".to_owned(), "exit".to_owned());
    // The lists are as empty at the end as before.
    assert_eq!(
        found(figures(3 << 20, 1 << 20)),
        [
            (Kind::UnusedCapacity, exit.clone(), SavesOf::Live),
            (Kind::EmptyContainer, exit.clone(), SavesOf::Live),
        ]
    );
    // They are full at the end, but for one that holds nothing.
    assert_eq!(
        found(figures(1 << 20, 1 << 20)),
        [
            (Kind::EmptyContainer, exit, SavesOf::Live),
            (Kind::UnusedCapacity, loaded, SavesOf::Peak),
        ]
    );
}

#[test]
fn findings_from_a_snapshot_save_one_percent_of_its_live_bytes() {
    let figures =
        json!({"blocks": 1, "bytes": 1 << 20, "known_bytes": 1 << 20, "unused_bytes": 1 << 17});
    let profile = shop_with(&[("peak", 1 << 30, figures, json!([]))]);
    assert_eq!(of_snapshots(&profile, false), []);
    assert_eq!(of_snapshots(&profile, true).len(), 1);
}

#[test]
fn values_are_not_made_smaller_than_the_smallest_block_of_the_allocator() {
    let remedy = |requested: u64, usable: u64| {
        let blocks = 1 << 20;
        let figures = json!({
            "blocks": blocks, "bytes": requested * blocks,
            "rounding_bytes": (usable - requested) * blocks,
        });
        let profile = shop_with(&[("peak", 64 << 20, figures, json!([]))]);
        let [finding] = &of_snapshots(&profile, false)[..] else {
            panic!("one finding");
        };
        format!("{} {}", finding.why, finding.remedy)
    };
    let smallest = remedy(2, 24);
    assert!(smallest.contains("asked for 2.0 MiB, 2 B each on average. glibc adds 22 B to each"));
    assert!(smallest.contains("A block of glibc has at least 24 B"));
    assert!(remedy(25, 40).contains("a little smaller"));
}

#[test]
fn what_nothing_reaches_counts_only_if_two_snapshots_agree() {
    let number = number_of_list();
    // Address, birth, bytes, site, the outermost site, in a cycle.
    let block = |address: u64, birth: u64, is_of_cycle: bool| {
        json!([address, birth, 1 << 20, number, number, is_of_cycle])
    };
    let figures = json!({"blocks": 9, "bytes": 9 << 20});
    let earlier = json!([block(16, 1, false), block(32, 2, true), block(48, 3, false)]);
    let later = json!([block(16, 1, false), block(32, 2, true), block(48, 4, false)]);
    let profile = shop_with(&[
        ("first", 8 << 20, figures.clone(), earlier),
        ("second", 9 << 20, figures.clone(), later.clone()),
    ]);
    let findings = of_snapshots(&profile, false);
    let found: Vec<_> = findings
        .iter()
        .map(|finding| (finding.kind, finding.saves_bytes, finding.saves_blocks))
        .collect();
    assert_eq!(
        found,
        [(Kind::Unreachable, 1 << 20, 1), (Kind::Cycle, 1 << 20, 1)]
    );
    for finding in &findings {
        let text = format!("{} {}", finding.why, finding.remedy);
        assert!(!text.contains("leak "), "{text}");
        assert!(text.contains("in two snapshots"), "{text}");
    }
    let one = shop_with(&[("only", 9 << 20, figures, later)]);
    assert_eq!(of_snapshots(&one, true), []);
}

#[test]
fn a_site_without_any_block_that_is_reached_leaks_or_hides_its_pointers() {
    let number = number_of_list();
    let blocks: Vec<Value> = (1..=64)
        .map(|at| json!([at * 16, at, 1 << 12, number, number, false]))
        .collect();
    let figures = json!({"blocks": 64, "bytes": 64 << 12});
    let snapshot = ("peak", 1 << 20, figures, json!(blocks));
    let profile = shop_with(&[snapshot.clone(), snapshot]);
    let findings = of_snapshots(&profile, false);
    assert_eq!(findings[0].kind, Kind::Unreachable);
    let said = "either all are leaked, or they are held in a way that cannot be seen";
    assert!(findings[0].why.contains(said), "{}", findings[0].why);
    assert!(findings[0].remedy.contains("`mem::forget`"));
}

/// Blocks of 7 bytes take 32 each in glibc's allocator: their pages are full.
#[test]
fn pages_full_of_the_smallest_blocks_are_not_kept_by_a_few() {
    let finds = |blocks: u64| {
        let figures = json!({
            "blocks": blocks, "bytes": blocks * 7, "known_bytes": blocks * 7,
            "pinned": {
                "pages": 1600, "own_pages": 1600, "page_bytes": 1600 * 4096,
                "live_bytes": blocks * 7,
            },
        });
        let profile = shop_with(&[("peak", 20 << 20, figures, json!([]))]);
        let mut found = of_snapshots(&profile, false).into_iter();
        found.find(|finding| finding.kind == Kind::PinnedPages)
    };
    assert_eq!(finds(1600 * 4096 / 32), None);
    let finding = finds(10_000).expect("a few blocks");
    assert_eq!(finding.saves_bytes, 1600 * 4096 - 10_000 * 32);
}

#[test]
fn no_figure_of_a_snapshot_overflows() {
    let most = u64::MAX;
    let figures = json!({
        "blocks": most, "bytes": most, "known_bytes": most, "unused_bytes": most,
        "empty_blocks": 0, "empty_bytes": 0, "repeated_blocks": most, "repeated_bytes": most,
        "untouched_bytes": most, "in_input_blocks": most, "in_input_bytes": most,
        "tables": most, "table_items": most, "small_tables": vec![most; 8],
        "small_table_bytes": most, "small_table_item_bytes": 1, "table_shrinks_bytes": most,
        "repeated_lists": most, "repeated_list_blocks": most, "repeated_list_bytes": most,
        "dropped_blocks": most, "dropped_bytes": most, "sliced_blocks": most, "sliced_bytes": most, "slice_bytes": 1, "rounding_bytes": most,
        "pinned": {"pages": most, "own_pages": most, "page_bytes": most, "live_bytes": 1},
    });
    let number = number_of_list();
    let block = json!([
        [most, most, most, number, number, true],
        [1, 1, most, number, 77, false]
    ]);
    let snapshot = ("peak", most, figures, block);
    let profile = shop_with(&[snapshot.clone(), snapshot]);
    let findings = of_snapshots(&profile, false);
    assert!(findings.len() >= 4, "{findings:#?}");
    text(&profile, &findings, 40);
}

#[test]
fn equal_lists_of_structs_are_shared_with_what_they_hold() {
    let found = |figures: Value| {
        let profile = shop_with(&[("peak", 9 << 20, figures, json!([]))]);
        of_snapshots(&profile, false)
    };
    let figures = json!({
        "blocks": 40, "bytes": 40 << 14, "known_bytes": 40 << 14, "repeated_blocks": 30,
        "repeated_bytes": 30 << 14, "repeated_lists": 30, "repeated_list_blocks": 3030,
        "repeated_list_bytes": 3 << 20,
    });
    let [finding] = &found(figures)[..] else {
        panic!("one finding");
    };
    assert_eq!(finding.kind, Kind::DuplicateContent);
    assert_eq!(finding.confidence, Confidence::Estimate);
    // The counts of ten shared lists.
    assert_eq!(
        (finding.saves_bytes, finding.saves_blocks),
        ((3 << 20) - 160, 3030)
    );
    assert_eq!(
        finding.why,
        "30 of 40 blocks of Vec<Product> equal another one, with 3,000 blocks that they hold; 10 \
         are distinct."
    );
    assert!(finding.remedy.contains("`Arc<[_]>`"), "{finding:#?}");
    // Equal blocks that are not known to hold structs.
    let others = json!({
        "blocks": 40, "bytes": 40 << 14, "known_bytes": 40 << 14, "repeated_blocks": 30,
        "repeated_bytes": 30 << 14,
    });
    assert_eq!(found(others), []);
}

/// Returns the shop with an enum of which a variant is large, of a crate.
fn shop_with_large_variant(type_name: &str, krate: &str) -> Profile {
    let file = recording("shop");
    let variants = json!([{
        "type_name": type_name, "krate": krate, "variants": ["Video", "Audio"],
        "variant_bytes": 160, "others_bytes": 24, "value_bytes": 168, "boxed_bytes": 32,
        "values": 10_000, "large_values": 100, "places": 10_000, "block_bytes": 1_680_000,
        "saves_bytes": 1_344_000, "site": number_of_list(),
    }]);
    let snapshot = json!({
        "moment": {
            "label": "peak", "time_ns": 92_100_000, "live_bytes": 9 << 20, "live_blocks": 9,
            "pause_ns": 1,
        },
        "large_variants": variants,
    });
    append(
        file.as_ref(),
        &json!({"format": 1, "snapshots": [snapshot]}),
    );
    open(file.as_ref(), &OpenOptions::default(), &|_| ()).expect("a recording")
}

#[test]
fn a_rare_large_variant_of_the_program_is_to_be_boxed() {
    let own = real("shop");
    let mut krate = own
        .functions()
        .iter()
        .filter(|function| function.origin == Origin::User);
    let krate = &krate.next().expect("a function").krate;
    let findings = of_snapshots(&shop_with_large_variant("Message", krate), false);
    let [finding] = &findings[..] else {
        panic!("{findings:#?}");
    };
    assert_eq!(finding.kind, Kind::LargeVariant);
    assert_eq!(finding.confidence, Confidence::AtLeast);
    assert_eq!(finding.saves_bytes, 1_344_000);
    assert_eq!(finding.place.type_name.as_deref(), Some("Vec<Product>"));
    assert_eq!(
        finding.why,
        "Each `Message` takes 168 B because `Video` and 1 other need up to 160 B, as only 1.0 % of \
         10,000 values do. The other variants need at most 24 B."
    );
    let remedy = "Box the fields of `Video`, `Audio`: then each value takes at most 32 B";
    assert!(finding.remedy.starts_with(remedy), "{finding:#?}");
    // The program cannot change those of a library. An `Option` is of its own making.
    for (type_name, krate, is_found) in [
        ("Value", "serde_json", false),
        ("Ordering", "core", false),
        ("Option<[u64; 20]>", "core", true),
    ] {
        let found = of_snapshots(&shop_with_large_variant(type_name, krate), true);
        assert_eq!(!found.is_empty(), is_found, "{type_name}");
    }
}

#[test]
fn blocks_that_only_weak_pointers_keep_are_those_of_dropped_values() {
    let figures = json!({
        "blocks": 40, "bytes": 40 << 14, "known_bytes": 40 << 14, "dropped_blocks": 30,
        "dropped_bytes": 30 << 14,
    });
    let profile = shop_with(&[("exit", 9 << 20, figures, json!([]))]);
    let findings = of_snapshots(&profile, false);
    let [finding] = &findings[..] else {
        panic!("{findings:#?}");
    };
    assert_eq!(finding.kind, Kind::KeptByWeak);
    assert_eq!(finding.confidence, Confidence::Exact);
    assert_eq!((finding.saves_bytes, finding.saves_blocks), (30 << 14, 30));
    assert!(finding.remedy.contains("strong_count"), "{finding:#?}");
}

const STRING: &str = "alloc::string::String";

/// Strings that a program makes, with their blocks by size and the figures at the peak.
fn strings(sizes: &[(u64, u64)], grows: u64, peak: (u64, u64)) -> Builder {
    let total_blocks = sizes.iter().map(|(_, blocks)| blocks).sum::<u64>();
    let figures = made!(Figures {
        total_bytes: sizes
            .iter()
            .map(|(bytes, blocks)| bytes * blocks)
            .sum::<u64>(),
        total_blocks,
        grows,
        peak_blocks: peak.0,
        peak_bytes: peak.1,
    });
    of_site(STRING, Origin::User, figures, sizes)
}

fn small_strings(profile: &Profile) -> Option<(u64, u64, Confidence)> {
    let mut findings = advise(profile, true).into_iter();
    let finding = findings.find(|finding| finding.kind == Kind::SmallStrings)?;
    Some((
        finding.saves_blocks,
        finding.saves_bytes,
        finding.confidence,
    ))
}

/// Pushing characters makes blocks of 8, 16, 32 and 64 bytes: steps of one string each.
#[test]
fn a_string_that_grows_counts_once() {
    const N: u64 = 40_000;
    let steps = [(8, N), (16, N), (32, N), (64, N)];
    let long = strings(&steps, 3 * N, (N, 64 * N)).build();
    assert_eq!(small_strings(&long), None);
    let short = strings(&[(8, N), (16, N)], N, (N, 16 * N)).build();
    assert_eq!(small_strings(&short), Some((N, 16 * N, Confidence::Exact)));
    // A tenth grows on.
    let mixed = strings(
        &[(8, N), (16, N), (32, N / 10)],
        N + N / 10,
        (N, 16 * N + 16 * N / 10),
    );
    let (blocks, bytes, confidence) = small_strings(&mixed.build()).expect("a finding");
    assert_eq!((blocks, confidence), (N / 10 * 9, Confidence::Estimate));
    assert!(bytes <= 24 * blocks, "{bytes}");
}

/// The short ones are gone at the peak: a mean of the whole run says nothing of them.
#[test]
fn strings_that_are_live_at_the_peak_are_not_judged_by_others() {
    let profile = strings(&[(16, 90_000), (40, 10_000)], 0, (10_000, 400_000)).build();
    assert_eq!(small_strings(&profile), None);
}

/// A `CompactString` of some length has a block like that of a `String`.
#[test]
fn types_that_store_short_texts_inline_are_not_advised_to() {
    let made = |krate: &str| {
        let figures = made!(Figures {
            total_bytes: 1_600_000,
            total_blocks: 100_000,
            peak_bytes: 1_600_000,
            peak_blocks: 100_000,
        });
        let mut b = Builder::new();
        let main = b.function("app::main", "app", Origin::User);
        let main = b.frame(main, Some("src/main.rs"), 7);
        let inside = b.function("library::make", krate, Origin::Dependency);
        let inside = b.frame(inside, Some("src/lib.rs"), 12);
        let container = b.value_type(STRING);
        let owner = b.value_type("app::Line");
        add_site(
            &mut b,
            &[main, inside],
            container,
            figures,
            &[(16, 100_000)],
        );
        for site in b.parts().sites.iter_mut() {
            site.contents = site.contents.map(|contents| {
                made!(Contents {
                    container: contents.container,
                    owner: Some(owner),
                })
            });
        }
        small_strings(&b.build())
    };
    assert_eq!(made("serde"), Some((100_000, 1_600_000, Confidence::Exact)));
    for krate in ["compact_str", "smol_str", "kstring", "arrayvec"] {
        assert_eq!(made(krate), None, "{krate}");
    }
}

#[test]
fn counted_pointers_and_maps_do_not_go_to_an_arena() {
    let figures = made!(Figures {
        total_bytes: 4_000_000,
        total_blocks: 10_000,
        freed_bytes: 4_000_000,
        freed_blocks: 10_000,
        peak_bytes: 4_000_000,
        peak_blocks: 10_000,
    });
    let found = |name: &str| {
        kinds(
            &of_site(name, Origin::User, figures.clone(), &[(400, 10_000)]).build(),
            true,
        )
    };
    assert_eq!(found("alloc::boxed::Box<app::Node>"), [Kind::FreedTogether]);
    for name in [
        "alloc::rc::Rc<app::Node>",
        "alloc::sync::Arc<app::Node>",
        "std::collections::hash::map::HashMap<u8, u8>",
        "alloc::collections::btree::map::BTreeMap<u8, u8>",
    ] {
        assert_eq!(found(name), [], "{name}");
    }
}

/// `clear` frees the nodes of a B-tree.
#[test]
fn a_map_that_clear_frees_is_not_kept_outside_the_loop() {
    let figures = made!(Figures {
        total_bytes: 100_000 * 100,
        total_blocks: 100_000,
        freed_bytes: 100_000 * 100,
        freed_blocks: 100_000,
        temporary_blocks: 100_000,
        temporary_bytes: 100_000 * 100,
    });
    let found = |name: &str| {
        kinds(
            &of_site(name, Origin::User, figures.clone(), &[(100, 100_000)]).build(),
            true,
        )
    };
    let table = "std::collections::hash::map::HashMap<u8, u8>";
    assert_eq!(found(table), [Kind::Temporary]);
    assert_eq!(
        found("alloc::collections::btree::map::BTreeMap<u8, u8>"),
        []
    );
    // Another crate's list of the same name has other methods.
    assert_eq!(found("bumpalo::collections::vec::Vec<u8>"), []);
}

/// Ten times as many allocated bytes do not come before live ones, whatever they save.
#[test]
fn savings_of_different_kinds_of_bytes_are_not_compared() {
    let mut b = strings(&[(16, 20_000)], 0, (20_000, 320_000));
    let container = b.value_type(VEC);
    let frames: Vec<FrameId> = (0..3).map(FrameId).collect();
    add_site(&mut b, &frames, container, growth(), &[(1 << 20, 20)]);
    let parts = b.parts();
    parts.failed_requests.push(made!(FailedRequest {
        site: 0_usize,
        count: 1,
        largest_bytes: 1 << 10,
    }));
    let profile = b.build();
    let findings = advise(&profile, false);
    let found: Vec<_> = findings
        .iter()
        .map(|finding| (finding.kind, finding.saves_of()))
        .collect();
    assert_eq!(
        found,
        [
            (Kind::FailedRequest, None),
            (Kind::SmallStrings, Some(SavesOf::Peak)),
            (Kind::MissingCapacity, Some(SavesOf::Allocated)),
            (Kind::FreedTogether, Some(SavesOf::Allocated)),
        ]
    );
    let text = text(&profile, &findings, 80);
    for line in [
        "Bytes at the peak",
        "Allocated bytes, however short they live",
        "saves 312.5 KiB at the peak: small_strings",
        "saves at least 878.9 KiB of allocated bytes: missing_capacity",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
}

/// Every list is named in the summary, also if one of them has many findings.
#[test]
fn the_summary_has_the_largest_finding_of_each_list() {
    let figures = json!({
        "blocks": 3, "bytes": 1 << 22, "known_bytes": 1 << 22, "unused_bytes": 3 << 20,
        "empty_blocks": 1, "empty_bytes": 1 << 20, "rounding_bytes": 2 << 20,
    });
    let profile = shop_with(&[("peak", 9 << 20, figures, json!([]))]);
    let findings = advise(&profile, false);
    let lists: Vec<_> = findings.iter().map(Finding::saves_of).collect();
    assert!(lists.is_sorted(), "{lists:?}");
    let sizes_fall =
        |list: &[Finding]| list.is_sorted_by_key(|finding| std::cmp::Reverse(finding.saves_bytes));
    let mut lists = findings.chunk_by(|one, other| one.saves_of() == other.saves_of());
    assert!(lists.all(sizes_fall));
    let mut summary = Vec::new();
    let options = made!(ReportOptions<'_> { width: 80_usize, paint: plain });
    write_summary(
        &profile,
        &with_findings(&profile, &findings),
        &options,
        &mut summary,
    )
    .expect("written");
    let summary = String::from_utf8(summary).expect("text");
    let kinds = ["unused_capacity", "small_strings", "allocator_rounding"];
    let at: Vec<_> = kinds.iter().map(|kind| summary.find(kind)).collect();
    assert!(at[0].is_some() && at.is_sorted(), "{summary}");
    for words in [
        "of live bytes: unused",
        "of resident memory: allocator_rounding",
    ] {
        assert!(summary.contains(words), "{summary}");
    }
}
