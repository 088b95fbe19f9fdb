//! Budgets make the decode fail, with the path and the figure, also if nothing records.

use crate::recorded::recorded;
use serde::Deserialize;
use serde::de::DeserializeSeed;
use tracking_alloc::{Budget, Profiled};

#[derive(Debug, Deserialize)]
struct Fleet {
    name: String,
    vessels: Vec<Vessel>,
}

#[derive(Debug, Deserialize)]
struct Vessel {
    crew: Vec<u64>,
    any: Option<Any>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
#[expect(dead_code, reason = "only read")]
enum Any {
    List(Vec<String>),
}

fn text(crew: usize, any: usize) -> String {
    let crew = vec!["1"; crew].join(",");
    let any = vec!["\"x\""; any].join(",");
    format!(r#"{{"name": "n", "vessels": [{{"crew": [{crew}], "any": [{any}]}}]}}"#)
}

fn error(budget: &Budget, text: &str) -> String {
    budget
        .run(|| serde_json::from_str::<Profiled<Fleet>>(text))
        .map(drop)
        .expect_err("the budget is exceeded")
        .to_string()
}

fn all_budgets() {
    let small = text(4, 1);
    let crowded = text(10_000, 1);
    let generous = Budget::new().live_bytes(1 << 20).total_bytes(1 << 20);
    generous
        .run(|| serde_json::from_str::<Profiled<Fleet>>(&crowded))
        .expect("within the budget");

    let live = Budget::new().live_bytes(20_000);
    assert!(
        error(&live, &crowded).starts_with("memory budget exceeded at Fleet.vessels[].crew: 3"),
        "{}",
        error(&live, &crowded)
    );
    assert!(error(&live, &crowded).contains(" bytes live, 20000 allowed"));

    let total = Budget::new().total_bytes(20_000);
    assert!(error(&total, &crowded).contains(" bytes allocated, 20000 allowed"));

    let amplified = Budget::new().amplification(0.5, crowded.len());
    let (input, allowed) = (crowded.len(), crowded.len() / 2);
    let what = format!(" bytes live for {input} bytes of input, {allowed} allowed");
    assert!(
        error(&amplified, &crowded).contains(&what),
        "{}",
        error(&amplified, &crowded)
    );
    for times in [100.0, f64::INFINITY] {
        Budget::new()
            .amplification(times, crowded.len())
            .run(|| serde_json::from_str::<Profiled<Fleet>>(&crowded))
            .expect("within the budget");
    }
    for times in [0.0, -1.0, f64::NAN] {
        let none = Budget::new().amplification(times, crowded.len());
        assert!(error(&none, &crowded).contains(" bytes of input, 0 allowed"));
    }

    let field = Budget::new().field("Fleet.vessels[].crew", Budget::new().live_bytes(64));
    assert!(
        error(&field, &crowded).starts_with(
            "memory budget exceeded at Fleet.vessels[].crew: 128 bytes live, 64 allowed"
        )
    );
    field
        .run(|| serde_json::from_str::<Profiled<Fleet>>(&small))
        .expect("four numbers fit");
    let nested = Budget::new().field(
        "Fleet.vessels",
        Budget::new().field("[].crew", Budget::new().total_bytes(100)),
    );
    assert!(error(&nested, &crowded).contains("at Fleet.vessels[].crew: "));

    // A buffer is checked while it fills, not only when it is full.
    let buffered = error(&Budget::new().live_bytes(10_000), &text(1, 100_000));
    assert!(
        buffered.contains("at Fleet.vessels[].any(buffered): "),
        "{buffered}"
    );
    let figure: u64 = buffered
        .split(": ")
        .nth(1)
        .and_then(|rest| rest.split(' ').next())
        .and_then(|figure| figure.parse().ok())
        .expect("a figure");
    assert!(figure < 40_000, "{buffered}");

    let mut deserializer = serde_json::Deserializer::from_str(&crowded);
    let seeded = Budget::new()
        .live_bytes(1000)
        .seed::<Fleet>()
        .deserialize(&mut deserializer);
    assert!(seeded.is_err_and(|error| error.to_string().contains("memory budget exceeded")));

    // A budget that ended leaves nothing behind.
    serde_json::from_str::<Profiled<Fleet>>(&crowded).expect("no budget");
    // In a format without names, the field is found by its position.
    let bytes = postcard::to_allocvec(&("n", vec![(vec![1u64; 1000], None::<u8>)])).expect("bytes");
    let error = field
        .run(|| postcard::from_bytes::<Profiled<Fleet>>(&bytes))
        .map(drop);
    assert_eq!(error, Err(postcard::Error::SerdeDeCustom));
}

#[test]
fn a_decode_over_its_budget_fails_while_nothing_records() {
    if std::env::var_os("HEAPGLASS_OUT").is_none() {
        all_budgets();
    }
}

#[test]
fn a_decode_over_its_budget_fails_while_recording() {
    recorded(
        "budget::a_decode_over_its_budget_fails_while_recording",
        all_budgets,
    );
}

#[test]
fn a_field_of_a_type_with_a_lifetime_is_named_as_in_reports() {
    #[derive(Debug, serde::Deserialize)]
    struct Borrowed<'a> {
        name: &'a str,
        words: Vec<String>,
    }
    let budget = Budget::new().field("Borrowed.words", Budget::new().live_bytes(10));
    let text = r#"{"name": "n", "words": ["a long word of many letters"]}"#;
    let read = budget.run(|| serde_json::from_str::<Profiled<Borrowed<'_>>>(text));
    let error = read.expect_err("24 bytes are more than 10").to_string();
    assert!(error.contains("exceeded at Borrowed.words: "), "{error}");
    let text = r#"{"name": "n", "words": []}"#;
    let read = budget.run(|| serde_json::from_str::<Profiled<Borrowed<'_>>>(text));
    let Profiled(read) = read.expect("nothing is kept");
    assert_eq!((read.name, read.words.len()), ("n", 0));
}
