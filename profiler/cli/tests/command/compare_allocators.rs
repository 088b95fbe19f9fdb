//! `heapglass compare-allocators`: only allocators that the program uses are compared.

use crate::common::Place;

#[test]
fn the_systems_allocator_is_compared_and_what_is_not_there_is_named() {
    let place = Place::new();
    let words = [
        "compare-allocators",
        "--with",
        "glibc,nomalloc,/nowhere/lib.so",
        "--runs",
        "3",
        "--json",
        "--",
        "sort",
        "--version",
    ];
    let done = place.heapglass(&words).output().expect("it runs");
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{said}");
    let json: serde_json::Value = serde_json::from_slice(&done.stdout).expect("JSON");
    let [compared] = json["allocators"].as_array().expect("a list").as_slice() else {
        panic!("one allocator: {json:#}");
    };
    assert_eq!(compared["name"], "glibc");
    assert_eq!(compared["times_ns"].as_array().map(Vec::len), Some(3));
    let number = |key: &str| {
        compared[key]
            .as_u64()
            .unwrap_or_else(|| panic!("{key}: {json:#}"))
    };
    assert!(number("peak_bytes") > 0);
    assert!(number("usable_bytes") > number("requested_bytes"));
    let left_out: Vec<_> = json["not_compared"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| one["name"].as_str())
        .collect();
    assert_eq!(left_out, [Some("nomalloc"), Some("/nowhere/lib.so")]);
}

#[test]
fn a_command_that_fails_is_not_compared() {
    let place = Place::new();
    let words = [
        "compare-allocators",
        "--with",
        "glibc",
        "--",
        "ls",
        "/nowhere",
    ];
    let done = place.heapglass(&words).output().expect("it runs");
    let printed = String::from_utf8_lossy(&done.stdout);
    assert!(
        printed.starts_with("not compared: glibc: the command failed"),
        "{printed}"
    );
    assert_eq!(done.status.code(), Some(2));
}
