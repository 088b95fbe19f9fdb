//! Verdicts of figures written down here: each claim compares the figures it says, in their order.

use heapglass_gauntlet::Verdict::{self, Contradicted, NotJudged, Reproduced, Stronger, Weaker};
use heapglass_gauntlet::{Claim, Found, Judged, find};

/// Figures of a case, the verdicts of its claims, and two figures that make another verdict when they are swapped.
struct Fixture {
    id: &'static str,
    figures: &'static [(&'static str, &'static str, f64)],
    verdicts: &'static [Verdict],
    swapped: [(&'static str, &'static str); 2],
}

const FIXTURES: &[Fixture] = &[
    Fixture {
        id: "0.1",
        figures: &[
            ("global", "time_ns", 190.0),
            ("bumpalo", "time_ns", 100.0),
            ("global, 100k", "time_ns", 15.0),
            ("bumpalo, 100k", "time_ns", 10.0),
        ],
        verdicts: &[Reproduced, Reproduced],
        swapped: [("global", "time_ns"), ("bumpalo", "time_ns")],
    },
    Fixture {
        id: "0.2",
        figures: &[("global", "time_ns", 250.0), ("bumpalo", "time_ns", 100.0)],
        verdicts: &[Weaker],
        swapped: [("global", "time_ns"), ("bumpalo", "time_ns")],
    },
    Fixture {
        id: "0.6",
        figures: &[
            ("bumpalo, own Vec", "time_ns", 125.0),
            ("bump-scope, own Vec", "time_ns", 100.0),
            ("bumpalo, same Vec", "time_ns", 99.0),
            ("bump-scope, same Vec", "time_ns", 100.0),
        ],
        verdicts: &[Weaker, Reproduced],
        swapped: [
            ("bumpalo, own Vec", "time_ns"),
            ("bump-scope, own Vec", "time_ns"),
        ],
    },
    Fixture {
        id: "0.10",
        figures: &[
            ("String", "records", 10.0),
            ("String", "usable_bytes", 300.0),
            ("buckets", "usable_bytes", 100.0),
            ("flat", "usable_bytes", 50.0),
        ],
        verdicts: &[Reproduced],
        swapped: [("flat", "usable_bytes"), ("buckets", "usable_bytes")],
    },
    Fixture {
        id: "0.11",
        figures: &[
            ("validate, then store", "time_ns", 100.0),
            ("store, then truncate", "time_ns", 131.0),
            ("deferred", "time_ns", 54.0),
            ("ASCII fast path", "time_ns", 85.0),
        ],
        verdicts: &[Stronger, Contradicted, Reproduced],
        swapped: [("validate, then store", "time_ns"), ("deferred", "time_ns")],
    },
    Fixture {
        id: "0.12",
        figures: &[
            ("global", "time_ns", 212.0),
            ("thread-local arena", "time_ns", 100.0),
            ("global", "total_blocks", 1_000_006.0),
            ("thread-local arena", "total_blocks", 25.0),
        ],
        verdicts: &[Reproduced, Reproduced],
        swapped: [("global", "time_ns"), ("thread-local arena", "time_ns")],
    },
    Fixture {
        id: "0.14",
        figures: &[
            ("thread-local arena", "time_ns", 82.0),
            ("derive, bumpalo", "time_ns", 100.0),
            ("by hand, bumpalo", "time_ns", 90.0),
            ("global", "time_ns", 180.0),
        ],
        verdicts: &[Contradicted, Weaker],
        swapped: [
            ("thread-local arena", "time_ns"),
            ("derive, bumpalo", "time_ns"),
        ],
    },
    Fixture {
        id: "0.16",
        figures: &[("glibc", "time_ns", 195.0), ("mimalloc", "time_ns", 100.0)],
        verdicts: &[Reproduced],
        swapped: [("glibc", "time_ns"), ("mimalloc", "time_ns")],
    },
    Fixture {
        id: "0.17",
        figures: &[
            ("pass 1", "time_ns", 361.0),
            ("pass 2, in place", "time_ns", 100.0),
            ("pass 1, mimalloc", "time_ns", 110.0),
            ("pass 2, in place, mimalloc", "time_ns", 100.0),
        ],
        verdicts: &[Stronger, Reproduced],
        swapped: [("pass 1", "time_ns"), ("pass 1, mimalloc", "time_ns")],
    },
    Fixture {
        id: "0.19",
        figures: &[
            ("lasso, all different", "time_ns", 766.0),
            ("String, all different", "time_ns", 100.0),
            ("lasso, airlines", "time_ns", 140.0),
            ("String, airlines", "time_ns", 100.0),
        ],
        verdicts: &[Stronger],
        swapped: [
            ("lasso, all different", "time_ns"),
            ("lasso, airlines", "time_ns"),
        ],
    },
    Fixture {
        id: "1.3",
        figures: &[("vec", "time_ns", 336.0), ("zerovec", "time_ns", 100.0)],
        verdicts: &[Reproduced],
        swapped: [("vec", "time_ns"), ("zerovec", "time_ns")],
    },
    Fixture {
        id: "2.11",
        figures: &[
            ("glibc", "times_apart_percent", 109.0),
            ("jemalloc", "times_apart_percent", 41.0),
            ("mimalloc", "times_apart_percent", 59.0),
        ],
        verdicts: &[Contradicted],
        swapped: [
            ("glibc", "times_apart_percent"),
            ("mimalloc", "times_apart_percent"),
        ],
    },
    Fixture {
        id: "3.5",
        figures: &[
            ("clone", "records", 10.0),
            ("Arc, 4 threads", "records", 400.0),
            ("Arc, 4 threads", "time_ns", 8_000.0),
        ],
        verdicts: &[Reproduced],
        swapped: [("Arc, 4 threads", "records"), ("Arc, 4 threads", "time_ns")],
    },
    Fixture {
        id: "3.6",
        figures: &[
            ("Box<dyn>", "time_ns", 1_400.0),
            ("enum_dispatch", "time_ns", 100.0),
            ("Box<dyn>, calls alone", "time_ns", 311.0),
            ("enum_dispatch, calls alone", "time_ns", 100.0),
        ],
        verdicts: &[Reproduced],
        swapped: [
            ("Box<dyn>", "time_ns"),
            ("Box<dyn>, calls alone", "time_ns"),
        ],
    },
    Fixture {
        id: "3.8",
        figures: &[
            ("serde_json", "time_ns", 141.0),
            ("json", "time_ns", 100.0),
            ("serde_json", "total_bytes", 100.0),
            ("json", "total_bytes", 107.0),
            ("serde_json", "peak_bytes", 5_600.0),
            ("json", "peak_bytes", 4_444.0),
        ],
        verdicts: &[Reproduced, Reproduced, Stronger],
        swapped: [("serde_json", "total_bytes"), ("serde_json", "peak_bytes")],
    },
    Fixture {
        id: "3.12",
        figures: &[
            ("binary: release, debug = 2", "file_bytes", 1_000.0),
            ("binary: strip", "file_bytes", 700.0),
            // The runner's, of the case's own process, and the program's: neither is the source's.
            ("binary: strip", "code_bytes", 10.0),
            ("binary: strip", "binary_code_bytes", 20.0),
        ],
        verdicts: &[Reproduced],
        swapped: [
            ("binary: strip", "file_bytes"),
            ("binary: strip", "code_bytes"),
        ],
    },
];

fn judged(id: &str, figures: &[(&str, &str, f64)]) -> Judged {
    let figure = |variant: &str, name: &str| {
        let found = figures
            .iter()
            .find(|(of, named, _)| *of == variant && *named == name);
        found.map(|(_, _, value)| *value)
    };
    (find(id).expect("a case").judge)(&Found { figure: &figure })
}

fn verdicts(judged: &Judged) -> Vec<Verdict> {
    judged.claims.iter().map(|claim| claim.verdict()).collect()
}

#[test]
fn claims_compare_the_figures_they_say() {
    for fixture in FIXTURES {
        let id = fixture.id;
        let found = judged(id, fixture.figures);
        assert_eq!(
            verdicts(&found),
            fixture.verdicts,
            "{id}: {:#?}",
            found.claims
        );
        let [one, other] = fixture.swapped;
        let value = |of: (&str, &str)| {
            let mut figures = fixture.figures.iter();
            let found = figures.find(|(variant, name, _)| (*variant, *name) == of);
            found.unwrap_or_else(|| panic!("{id} has no {of:?}")).2
        };
        let swapped: Vec<(&str, &str, f64)> = fixture
            .figures
            .iter()
            .map(|&(variant, name, own)| match (variant, name) {
                of if of == one => (variant, name, value(other)),
                of if of == other => (variant, name, value(one)),
                _ => (variant, name, own),
            })
            .collect();
        let found = judged(id, &swapped);
        assert_ne!(
            verdicts(&found),
            fixture.verdicts,
            "{id} swapped: {:#?}",
            found.claims
        );
    }
}

#[test]
fn what_was_not_measured_is_not_judged() {
    for case in heapglass_gauntlet::all() {
        let found = judged(case.id, &[]);
        let said = verdicts(&found);
        assert!(
            said.iter().all(|verdict| *verdict == NotJudged),
            "{}: {said:?}",
            case.id
        );
    }
}

#[test]
fn a_verdict_has_the_direction_and_the_size_of_the_claim() {
    let twice = Claim::times("times as long", 2.0);
    for (here, verdict) in [
        (f64::NAN, NotJudged),
        (1.6, Reproduced),
        (2.4, Reproduced),
        (2.41, Stronger),
        (1.59, Weaker),
        (1.06, Weaker),
        (1.04, Contradicted),
        (0.5, Contradicted),
    ] {
        assert_eq!(twice.compare(here), verdict, "{here}");
    }
    // Less than as much.
    let less = Claim::times("times the peak", 0.5).within(0.1);
    for (here, verdict) in [
        (0.5, Reproduced),
        (0.4, Stronger),
        (0.9, Weaker),
        (1.2, Contradicted),
    ] {
        assert_eq!(less.compare(here), verdict, "{here}");
    }
    let between = Claim::times("times as long", 0.0)
        .between(2.0, 4.0)
        .within(0.1);
    for (here, verdict) in [
        (1.8, Reproduced),
        (4.4, Reproduced),
        (1.5, Weaker),
        (5.0, Stronger),
    ] {
        assert_eq!(between.compare(here), verdict, "{here}");
    }
    let count = Claim::count("blocks", 27.0);
    assert_eq!(
        [27.0, 26.0, 28.0, 0.0].map(|here| count.compare(here)),
        [Reproduced, Weaker, Stronger, Contradicted]
    );
    let more = Claim::more("times as fast");
    assert_eq!(
        [0.96, 50.0, 0.94].map(|here| more.compare(here)),
        [Reproduced, Reproduced, Contradicted]
    );
    let level = Claim::level("times as long");
    assert_eq!(
        [0.91, 1.09, 1.2, 0.8].map(|here| level.compare(here)),
        [Reproduced, Reproduced, Contradicted, Contradicted]
    );
}

#[test]
fn the_least_favourable_claim_is_the_verdict_and_facts_that_do_not_hold_contradict() {
    let twice = || Claim::times("times as long", 2.0);
    let of = |held, here: &[f64]| {
        let facts = Judged::facts(held, String::new());
        here.iter()
            .fold(facts, |judged, here| judged.claim(twice(), *here))
            .verdict()
    };
    assert_eq!(of(true, &[]), Reproduced);
    assert_eq!(of(true, &[2.0, f64::NAN]), NotJudged);
    assert_eq!(of(true, &[f64::NAN, 3.0]), Stronger);
    assert_eq!(of(true, &[3.0, 1.5]), Weaker);
    assert_eq!(of(true, &[1.5, 1.0]), Contradicted);
    assert_eq!(of(false, &[2.0]), Contradicted);
    let unjudged = |held| Judged::unjudged(held, String::new()).verdict();
    assert_eq!((unjudged(true), unjudged(false)), (NotJudged, Contradicted));
    let said = Judged::facts(true, String::new())
        .claim(twice(), 1.0)
        .because("it is fast here");
    assert_eq!(
        said.claims[0].to_string(),
        "times as long: source 2, within 20 %; here 1: contradicted, it is fast here"
    );
}
