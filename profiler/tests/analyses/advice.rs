//! Findings of made profiles and of real programs. Whether a predicted saving is what a program
//! saves is tested on programs: `examples/tests/recorded/advice.rs`.

use heapglass_fixture::{Builder, made, real};
use heapglass_profiler::advice::{
    Confidence, Finding, Kind, advise, write_json, write_summary, write_text,
};
use heapglass_profiler::profile::{
    Checkpoint, Contents, Distribution, FailedRequest, Figures, FrameId, Origin, Profile, ScopeId,
    State, Thread,
};
use heapglass_profiler::report::{ReportOptions, plain};

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
        parts.checkpoints.push(made!(Checkpoint {
            time_ns: at * 100_000_000,
            live_bytes: vec![*bytes],
        }));
    }
    b.build()
}

#[test]
fn growth_counts_only_if_it_goes_on_to_the_end() {
    let steady: Vec<u64> = (1..=10).map(|at| at << 20).collect();
    let profile = growing(&steady, 11 << 20, 1);
    let findings = advise(&profile, false);
    assert_eq!(findings[0].kind, Kind::Growing);
    // Of the last seven checkpoints and the end.
    assert_eq!(findings[0].saves_bytes, 7 << 20);
    assert_eq!(findings[0].saves_blocks, 7 << 10);
    let none = |live: &[u64], end, seconds| {
        assert_eq!(kinds(&growing(live, end, seconds), true), [], "{live:?}");
    };
    none(&steady, 11 << 20, 0);
    // Nothing happened for the last nine seconds.
    none(&steady, 11 << 20, 10);
    none(&steady, 0, 1);
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
            parts.checkpoints.push(made!(Checkpoint {
                time_ns,
                live_bytes: vec![time_ns, u64::MAX],
            }));
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
