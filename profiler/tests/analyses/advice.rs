//! Findings of made profiles and of real programs. Whether a predicted saving is what a program
//! saves is tested on programs: `examples/tests/recorded/advice.rs`.

use heapglass_fixture::{Builder, append, made, real, recording};
use heapglass_profiler::advice::{
    Confidence, Finding, Kind, advise, write_json, write_summary, write_text,
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
    site.figures = figures;
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

/// A program with these live bytes at its checkpoints and at its end.
fn growing(live: &[u64], end: u64, seconds: u64) -> Profile {
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
    parts.process.duration_ns = seconds * 1_000_000_000 + 100_000_000;
    for (at, bytes) in (1..).zip(live) {
        b.checkpoint(at * 100_000_000, &[(*bytes, bytes / 1024)]);
    }
    b.build()
}

#[test]
fn growth_counts_only_if_it_goes_on_over_most_of_the_run() {
    let steady: Vec<u64> = (1..=10).map(|at| at << 20).collect();
    let profile = growing(&steady, 11 << 20, 1);
    let findings = advise(&profile, false);
    assert_eq!(findings[0].kind, Kind::Growing);
    // Of the last three fifths of the time.
    assert_eq!(findings[0].saves_bytes, 7 << 20);
    assert_eq!(findings[0].saves_blocks, 7 << 10);
    // All is freed when the program stops.
    let stopped = &advise(&growing(&steady, 0, 1), false)[0];
    assert_eq!(
        (stopped.kind, stopped.saves_bytes),
        (Kind::Growing, 6 << 20)
    );
    assert!(
        stopped.why.contains("Then 10.0 MiB were freed."),
        "{}",
        stopped.why
    );
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
        let mut b = of_site(name, Origin::User, most, &[(u64::MAX, u64::MAX), (8, 1)]);
        let parts = b.parts();
        let frames: Vec<FrameId> = (0..3).map(FrameId).collect();
        parts.process.duration_ns = u64::MAX;
        parts.threads[0].count = u64::MAX;
        for time_ns in 0..12 {
            b.checkpoint(time_ns, &[(time_ns, 1), (u64::MAX, u64::MAX)]);
        }
        let container = b.value_type(name);
        add_site(&mut b, &frames, container, most, &[(8, u64::MAX)]);
        let profile = b.build();
        let findings = advise(&profile, true);
        text(&profile, &findings, 40);
        // Fields of that many entries take more than the largest figure.
        assert_eq!(findings.is_empty(), name == tree, "{name}");
    }
}

fn text(profile: &Profile, findings: &[Finding], width: usize) -> String {
    let options = made!(ReportOptions<'_> { width, paint: plain });
    let mut text = Vec::new();
    write_text(profile, findings, false, &options, &mut text).unwrap();
    text.push(b'\n');
    write_summary(profile, findings, &options, &mut text).unwrap();
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
    write_json(&findings, &mut json).unwrap();
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
    write_json(&advise(&profile, false), &mut json).unwrap();
    insta::assert_snapshot!("json", String::from_utf8(json).unwrap());
}

/// The recording of the shop with snapshots of such figures: label, live bytes, figures of a site
/// with lists, and blocks that nothing reached.
fn shop_with(snapshots: &[(&str, u64, Value, Value)]) -> Profile {
    let file = recording("shop");
    let number = number_of_list();
    let snapshots = snapshots.iter().map(|(label, live, figures, not_reached)| {
        json!({
            "moment": {
                "label": label, "time_ns": 92_100_000, "live_bytes": live, "live_blocks": 9,
                "pause_ns": 1,
            },
            "sites": [[number, figures], [null, figures]],
            "not_reached": not_reached,
            "usable": {"allocator": "glibc"},
        })
    });
    let snapshots: Vec<Value> = snapshots.collect();
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
fn findings_from_a_snapshot_are_of_the_one_with_most_live_bytes() {
    let figures = |unused: u64| {
        json!({
            "blocks": 3, "bytes": 1 << 22, "known_bytes": 1 << 22, "unused_bytes": unused,
            "empty_blocks": 1, "empty_bytes": 1 << 20,
        })
    };
    let profile = shop_with(&[
        ("first", 8 << 20, figures(7), json!([])),
        ("peak", 9 << 20, figures(3 << 20), json!([])),
        ("exit", 1 << 20, figures(7), json!([])),
    ]);
    let findings = of_snapshots(&profile, false);
    let [unused, empty] = findings.as_slice() else {
        panic!("{findings:#?}");
    };
    assert_eq!(unused.kind, Kind::UnusedCapacity);
    assert_eq!((unused.saves_bytes, unused.saves_blocks), (2 << 20, 0));
    assert_eq!(empty.kind, Kind::EmptyContainer);
    assert_eq!((empty.saves_bytes, empty.saves_blocks), (1 << 20, 1));
    let moment = unused.snapshot.as_ref().expect("a moment");
    assert_eq!(
        (moment.label.as_str(), moment.live_bytes),
        ("peak", 9 << 20)
    );
    let text = text(&profile, &findings, 80);
    let words: Vec<&str> = text.split_whitespace().collect();
    let text = words.join(" ");
    assert!(text.contains("22.2 % of 9.0 MiB live at 92.1 ms"), "{text}");
    assert!(text.contains("from snapshot peak at 92.1 ms"), "{text}");
    assert!(text.contains("the largest of 3"), "{text}");
    assert!(text.contains("At 92.1 ms: 66.7 % of 3.0 MiB"), "{text}");
    let mut json = Vec::new();
    write_json(&findings, &mut json).expect("written");
    let json: Value = serde_json::from_slice(&json).expect("JSON");
    assert_eq!(json["format"], 1);
    assert_eq!(json["findings"][0]["snapshot"]["label"], "peak");
    assert_eq!(json["findings"][0]["snapshot"]["time_ns"], 92_100_000);
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
fn a_site_without_any_block_that_is_reached_is_more_likely_held_unseen() {
    let number = number_of_list();
    let blocks: Vec<Value> = (1..=64)
        .map(|at| json!([at * 16, at, 1 << 12, number, number, false]))
        .collect();
    let figures = json!({"blocks": 64, "bytes": 64 << 12});
    let snapshot = ("peak", 1 << 20, figures, json!(blocks));
    let profile = shop_with(&[snapshot.clone(), snapshot]);
    let findings = of_snapshots(&profile, false);
    assert_eq!(findings[0].kind, Kind::Unreachable);
    assert!(
        findings[0]
            .why
            .contains("more likely they are held in a way that cannot be seen"),
        "{}",
        findings[0].why
    );
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
        "sliced_blocks": most, "sliced_bytes": most, "slice_bytes": 1, "rounding_bytes": most,
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
