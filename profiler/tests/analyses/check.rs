//! Budgets: an exceeded limit is named, possible noise is not, and no budget causes a panic.

use heapglass_fixture::{self as fixture, Builder, figures};
use heapglass_profiler::check::*;
use heapglass_profiler::diff::{Per, Recording};
use heapglass_profiler::profile::{Contents, Measure, Origin, Profile, ScopeKind};
use heapglass_profiler::report::ReportOptions;
use heapglass_profiler::table::By;

fn named(profile: &Profile) -> Recording<'_> {
    Recording {
        name: "x.hg",
        profile,
    }
}

fn check(profile: &Profile, budget: &str) -> Result<Check, String> {
    let budget = parse(budget, false)?;
    let outcomes = budget
        .limits
        .iter()
        .map(|limit| check_limit(&named(profile), limit));
    Ok(fixture::made!(Check {
        recording: "x.hg".into(),
        outcomes: outcomes.collect::<Result<_, _>>()?,
        warnings: Vec::new(),
    }))
}

fn text(check: &Check) -> String {
    let mut out = Vec::new();
    write_text(check, &ReportOptions::default(), &mut out).expect("writing to memory");
    String::from_utf8(out).expect("text")
}

/// A load of `records` records, with a block of `name_bytes` for each name, and a list that grows
/// `grows` times.
fn load(records: u64, name_bytes: u64, grows: u64) -> Profile {
    let mut b = Builder::new();
    let phase = b.scope(0, "load", records * 100, records);
    let root = b.field(phase, ScopeKind::Root, "Fleet", ("app::Fleet", 24), 1);
    let name = b.field(
        root,
        ScopeKind::Field,
        "name",
        ("alloc::string::String", 24),
        records,
    );
    let list = b.field(
        root,
        ScopeKind::Field,
        "list",
        ("alloc::vec::Vec<app::Ship>", 24),
        1,
    );
    let function = b.function("app::load", "app", Origin::User);
    let frame = b.frame(function, Some("src/main.rs"), 12);
    let of = |container| {
        Some(fixture::made!(Contents {
            container,
            element: None,
            owner: None,
        }))
    };
    let (text, ships) = (
        b.value_type("alloc::string::String"),
        b.value_type("alloc::vec::Vec<app::Ship>"),
    );
    b.site(&[frame], name, figures(records, name_bytes, records))
        .contents = of(text);
    let mut of_list = figures(grows + 1, 64, 1);
    of_list.grows = grows;
    b.site(&[frame], list, of_list).contents = of(ships);
    b.build()
}

#[test]
fn a_limit_is_kept_to_the_byte() {
    let profile = load(100, 32, 0);
    let total = profile.totals().total_bytes;
    let budget = |most: u64| format!("[total]\ntotal = {most}\n");
    let kept = check(&profile, &budget(total)).expect("a check");
    assert_eq!(kept.failed().count(), 0, "{}", text(&kept));
    let over = check(&profile, &budget(total - 1)).expect("a check");
    assert_eq!(over.failed().count(), 1);
    let said = text(&over);
    assert!(said.contains("1 B (<0.1 %) too much"), "{said}");
    // Figures that differ read differently, in every form.
    let both = "total 3.188 KiB, at most 3.187 KiB:";
    assert!(said.contains(both), "{said}");
    let mut page = Vec::new();
    write_markdown(&over, &mut page).expect("writing to memory");
    let page = String::from_utf8(page).expect("text");
    assert!(page.contains("| 3.188 KiB | 3.187 KiB |"), "{page}");
    assert!(
        said.contains("Fleet.name") && said.contains("src/main.rs:12"),
        "{said}"
    );
}

#[test]
fn every_subject_measures_what_its_rows_say() {
    let profile = load(100, 32, 3);
    let budget = r#"
        [total]
        blocks = 104
        [total.per_record]
        blocks = 1.04
        [phase."load"]
        total = 3456
        [phase."**".per_input_byte]
        total = 0.3456
        [owner."app::*"]
        grows = 15
        [type."alloc::string::*"]
        total = "3200"
        [type."Vec<*>"]
        blocks = 4
        [field."Fleet.*"]
        blocks = 104
        [field."Fleet.name".per_record]
        live = 32
    "#;
    let kept = check(&profile, budget).expect("a check");
    assert_eq!(kept.outcomes.len(), 9);
    assert_eq!(kept.failed().count(), 0, "{}", text(&kept));
    // Lowers each limit by one step, so that it is exceeded.
    let less = budget
        .replace("= 104", "= 103")
        .replace("1.04", "1.03")
        .replace("3456", "3455")
        .replace("grows = 15", "grows = 14")
        .replace("3200", "3199")
        .replace("blocks = 4", "blocks = 3")
        .replace("live = 32", "live = 31.9");
    let over = check(&profile, &less).expect("a check");
    assert_eq!(over.failed().count(), 9, "{}", text(&over));
    assert!(
        over.outcomes
            .iter()
            .all(|outcome| !outcome.offenders.is_empty())
    );
}

#[test]
fn a_phase_inside_another_that_matches_is_counted_once() {
    let profile = fixture::profile();
    let whole = check(&profile, "[phase.\"load\"]\ntotal = 0").expect("a check");
    let both = check(&profile, "[phase.\"load**\"]\ntotal = 0").expect("a check");
    assert_eq!(whole.outcomes[0].value, both.outcomes[0].value);
    assert!(whole.outcomes[0].value.value > 0);
    // All phases together, and everything outside of phases, are the program.
    let all = check(&profile, "[phase.\"**\"]\ntotal = 0").expect("a check");
    assert_eq!(all.outcomes[0].value.value, profile.totals().total_bytes);
}

#[test]
fn a_peak_within_its_error_bound_does_not_fail() {
    let mut profile = load(100, 32, 0);
    let peak = profile.totals().peak_bytes;
    profile.parts().capture.peak_error_bytes = 100;
    let status = |most: u64| {
        let check = check(&profile, &format!("[total]\npeak = {most}\n")).expect("a check");
        (check.outcomes[0].status, text(&check))
    };
    assert_eq!(status(peak + 100).0, Status::Passed);
    let (unsure, said) = status(peak);
    assert_eq!(unsure, Status::Unsure);
    assert!(
        said.contains("undecided, because the error bound of the peak is"),
        "{said}"
    );
    assert_eq!(status(peak - 100).0, Status::Unsure);
    assert_eq!(status(peak - 101).0, Status::Failed);
}

#[test]
fn compared_with_before_what_grew_is_named() {
    let base = load(1_000, 32, 0);
    let against = |new: &Profile| {
        let tolerances = Tolerances::default();
        let (outcomes, _) =
            check_against(&[named(&base)], &named(new), &tolerances, None).expect("a check");
        fixture::made!(Check {
            recording: "new.hg".into(),
            outcomes,
            warnings: Vec::new(),
        })
    };
    let same = against(&load(1_000, 32, 0));
    assert_eq!(same.outcomes.len(), 4);
    assert_eq!(same.failed().count(), 0, "{}", text(&same));
    assert_eq!(
        against(&load(1_000, 33, 0)).failed().count(),
        0,
        "within 5 % and 4 KiB"
    );
    let more = against(&load(1_000, 64, 0));
    let said = text(&more);
    assert_eq!(more.failed().count(), 3, "{said}");
    assert!(
        said.contains("Fleet.name") && said.contains("src/main.rs:12"),
        "{said}"
    );
    assert!(said.contains("+31.3 KiB"), "{said}");
    assert!(!said.contains("Fleet.list"), "{said}");
}

#[test]
fn a_limit_on_a_field_counts_what_lies_inside_it_once() {
    for profile in [load(100, 32, 3), fixture::fleet()] {
        let value = |pattern: &str| {
            let limit = Limit {
                subject: Subject::Rows(By::Field, Pattern::new(pattern).expect("a pattern")),
                measure: Measure::Total,
                per: None,
                most: Most::Whole(u64::MAX),
            };
            check_limit(&named(&profile), &limit).map(|outcome| outcome.value.value)
        };
        let nodes = profile.fields().nodes();
        for field in nodes.iter().skip(1) {
            let same = nodes.iter().filter(|other| other.path == field.path);
            if same.count() == 1 {
                assert_eq!(
                    value(&field.path),
                    Ok(field.with_inner.total_bytes),
                    "{}",
                    field.path
                );
            }
        }
        // Everything, counted once although fields nest.
        assert_eq!(value("**"), Ok(profile.totals().total_bytes));
    }
}

#[test]
fn what_was_allowed_nothing_may_not_grow_by_one_byte() {
    let mut tolerances = Tolerances::default();
    tolerances.set_general(0.0);
    let (base, new) = (load(100, 32, 0), load(100, 32, 1));
    let failed = |new: &Profile| {
        let (outcomes, _) =
            check_against(&[named(&base)], &named(new), &tolerances, None).expect("a check");
        outcomes
            .iter()
            .filter(|outcome| outcome.has_failed())
            .count()
    };
    assert_eq!(failed(&base), 0);
    assert!(failed(&new) > 0);
}

#[test]
fn figures_for_each_record_are_compared_where_the_input_grew() {
    let (base, new) = (load(1_000, 32, 0), load(9_000, 32, 0));
    let failed = |per| {
        let tolerances = Tolerances::default();
        let (outcomes, warnings) =
            check_against(&[named(&base)], &named(&new), &tolerances, per).expect("a check");
        let failed = outcomes.iter().filter(|outcome| outcome.has_failed());
        (failed.count(), warnings)
    };
    let (whole, warnings) = failed(None);
    assert!(whole > 0);
    assert!(
        warnings
            .iter()
            .any(|said| said.contains("The inputs differ"))
    );
    assert_eq!(failed(Some(Per::Record)).0, 0);
}

#[test]
fn what_is_named_for_a_figure_of_each_record_grew_for_each_record() {
    // Twice the records: a list of the same length has fewer bytes per record, and names have twice
    // as many.
    let (base, new) = (load(1_000, 32, 5), load(2_000, 64, 5));
    let tolerances = Tolerances::default();
    let per = Some(Per::Record);
    let (outcomes, _) =
        check_against(&[named(&base)], &named(&new), &tolerances, per).expect("a check");
    let total = outcomes
        .iter()
        .find(|outcome| outcome.measure == Measure::Total)
        .expect("the total");
    let [names] = &total.offenders[..] else {
        panic!("one row: {:?}", total.offenders);
    };
    assert_eq!(names.label.what, "String");
    assert_eq!(names.value, 2_000 * (64 - 32));
}

#[test]
fn what_is_wrong_with_a_budget_is_one_sentence() {
    let profile = load(10, 8, 0);
    for (budget, said) in [
        ("[total", "line 1: not TOML"),
        (
            "[total]\npeek = 1",
            "[total]: unknown key `peek`: write one of peak, live",
        ),
        ("[totals]\npeak = 1", "unknown key `totals`"),
        ("total = 3", "`total` must be a table"),
        ("[total]\npeak = -1", "-1 is negative"),
        ("[total]", "has no limits"),
        ("[type.\"A\"]\n[total]\npeak = 1", "has no limits"),
        ("[phase.\"a\".per_record]", "has no limits"),
        ("[total]\npeak = \"many\"", "`many` is not a size"),
        ("[total]\nblocks = \"30 MiB\"", "write a number"),
        ("[total]\nblocks = 1.5", "1.5 is not a limit"),
        ("[total.per_record]\npeak = nan", "NaN is not a limit"),
        (
            "[total.per_record]\npeek = 1",
            "[total] per_record: unknown key `peek`",
        ),
        ("[total]\nper_record = 1", "`per_record` must be a table"),
        ("[field]\npeak = 1", "`peak` must be a table"),
        ("[field.\"\"]\npeak = 1", "a pattern is empty"),
        ("[total]\ncopied = 1", "allow_copied = true"),
        ("[against]\ncopied = \"5 %\"", "allow_copied = true"),
        (
            "[against]\npeak = 5",
            "write a percentage of the base in quotation marks",
        ),
        ("[against]\npeak = \"-5 %\"", "`-5 %` is not a tolerance"),
        ("allow_copied = 1", "allow_copied must be true or false"),
        (
            "[field.\"Fleet.nam\"]\npeak = 1",
            "no field of x.hg matches \"Fleet.nam\": there are",
        ),
        ("[phase.\"x\"]\npeak = 1", "no phase of x.hg matches"),
    ] {
        let error = check(&profile, budget).expect_err(budget);
        assert!(error.contains(said), "{budget:?}: {error}");
        assert_eq!(error.lines().count(), 1, "{budget:?}: {error}");
    }
    let silent = fixture::sized(3, 3);
    let error = check(&silent, "[total.per_record]\npeak = 1").expect_err("no records");
    assert!(error.contains("does not state its records"), "{error}");
    assert!(parse("allow_copied = true\n[total]\ncopied = 1", false).is_ok());
    assert!(parse("[total]\ncopied = 1", true).is_ok());
}

#[test]
fn no_budget_is_a_panic() {
    let profile = fixture::profile();
    let seed = "allow_copied = true\n[total]\npeak = \"3 MiB\"\n[total.per_record]\nblocks = 1.5\n\
        [field.\"a.**[]\"]\ntotal = 9\n[against]\ntolerance = \"5 %\"\n";
    assert!(parse(seed, false).is_ok());
    // Each byte replaced, each length cut, and deep nesting.
    for at in 0..seed.len() {
        for byte in *b"[]\"'.=\n\\*%9-\xff\0" {
            let mut bytes = seed.as_bytes().to_vec();
            bytes[at] = byte;
            let _ = check(&profile, &String::from_utf8_lossy(&bytes));
        }
        let _ = check(&profile, &seed[..at]);
    }
    for nested in [
        "[".repeat(50_000),
        "a.".repeat(50_000),
        "a=[".repeat(50_000),
        "a={b=".repeat(50_000),
    ] {
        assert!(check(&profile, &nested).is_err());
    }
}

#[test]
fn text_markdown_and_json_say_the_same() {
    let over = check(
        &load(100, 32, 3),
        "[total]\nblocks = 5\n[field.\"**.list\"]\ngrows = 9",
    )
    .expect("a check");
    let mut out = Vec::new();
    write_json(&over, &mut out).expect("writing to memory");
    let json: serde_json::Value = serde_json::from_slice(&out).expect("valid JSON");
    assert_eq!(
        (&json["passed"], &json["failed"]),
        (&false.into(), &1.into())
    );
    assert_eq!(json["checks"][0]["value"], 104);
    assert_eq!(json["checks"][0]["offenders"][0]["field"], "Fleet.name");
    assert_eq!(json["checks"][1]["status"], "passed");
    let mut out = Vec::new();
    write_markdown(&over, &mut out).expect("writing to memory");
    let markdown = String::from_utf8(out).expect("text");
    assert!(markdown.contains("1 of 2 checks failed"), "{markdown}");
    assert!(
        markdown.contains("| **failed** | program, blocks | 104 | 5 |"),
        "{markdown}"
    );
    assert!(markdown.contains("Fleet.name</code>"), "{markdown}");
    assert!(
        text(&over).contains("1 of 2 checks failed"),
        "{}",
        text(&over)
    );
}
