//! A program that forgot the allocator. A budget reports this error instead of never failing.

#![cfg(feature = "serde")]

use serde::de::DeserializeSeed;
use tracking_alloc::{Budget, Profiled};

#[test]
fn a_budget_without_the_allocator_fails_with_the_lines_to_add() {
    let budget = Budget::new().live_bytes(1 << 20);
    let panicked = std::panic::catch_unwind(|| {
        let _ = budget.run(|| serde_json::from_str::<Profiled<Vec<u8>>>("[1]"));
    });
    let message = panicked.expect_err("no allocator");
    let message = message.downcast_ref::<String>().expect("a message");
    assert!(message.contains("#[global_allocator]"), "{message}");

    let mut deserializer = serde_json::Deserializer::from_str("[1]");
    let error = budget
        .seed::<Vec<u8>>()
        .deserialize(&mut deserializer)
        .expect_err("no allocator");
    assert!(error.to_string().contains("#[global_allocator]"), "{error}");
}

#[test]
fn without_a_budget_nothing_is_asked_for() {
    let value = serde_json::from_str::<Profiled<Vec<u8>>>("[1]");
    assert_eq!(value.expect("a list").0, [1]);
}
