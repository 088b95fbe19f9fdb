//! Snapshots of recorded programs whose heap hangs on locals of stacks.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use heapglass_profiler::snapshot::{Basis, Held, HolderName, Snapshot};
use heapglass_profiler::{OpenOptions, open};

use crate::common::Place;
use crate::preload::compile;

const PROGRAM: &str = include_str!("programs/locals.rs");

/// Compiles and runs the program. Returns its snapshot and what it said is unused.
fn taken(flags: &[&str]) -> (Snapshot, Vec<u64>) {
    let place = Place::new();
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let flags = [&["--edition=2024"], flags].concat();
    compile(&place, &rustc, "program.rs", PROGRAM, &flags);
    // The copy of the largest moment may be missed while an earlier one is made.
    for _ in 0..10 {
        let done = place.run(&["run", "--snapshot=peak", "-o", "a.hg", "--", "./program"]);
        assert_eq!(done.status, Some(0), "{}", done.stderr);
        let path = place.path("a.hg");
        let profile = open(&path, &OpenOptions::default(), &|_| ()).expect("a recording");
        std::fs::remove_file(&path).expect("removed");
        let mut snapshots = profile.snapshots().iter();
        let Some(snapshot) = snapshots.find(|one| one.bytes() > 64 << 20) else {
            continue;
        };
        let line = done.stdout.lines().next().expect("a line");
        let unused = line.split(' ').map(|word| word.parse().expect("a number"));
        return (snapshot.clone(), unused.collect());
    }
    panic!("no snapshot of the largest moment");
}

/// Returns the places of blocks, and the figures of all blocks at one of them.
fn at(snapshot: &Snapshot, place: &str) -> (Held, Vec<String>) {
    let mut sum = Held::default();
    let mut places = Vec::new();
    for node in snapshot.holders() {
        if let HolderName::Site(_, text) = &node.name {
            places.push(text.to_string());
            if text == place {
                node.own.iter().for_each(|held| sum.add(held));
            }
        }
    }
    (sum, places)
}

fn check(flags: &[&str]) {
    let (snapshot, unused) = taken(flags);
    assert_eq!(snapshot.basis(), Basis::Types);
    for (place, unused) in ["user", "seen[]"].iter().zip(unused) {
        let (held, places) = at(&snapshot, &format!("main::state.sessions{{}}.{place}"));
        assert_eq!(held.unused_bytes, unused, "{place}: {places:?}");
        assert_eq!(held.known_bytes, held.bytes, "{place}");
    }
    let blocks = |place: &str| {
        let (held, places) = at(&snapshot, place);
        (held.blocks, places)
    };
    // The lists and what is in them.
    for (place, count) in [("main::state.names[]", 201), ("inlined::work.lines[]", 501)] {
        let (blocks, places) = blocks(place);
        assert_eq!(blocks, count, "{place}: {places:?}");
    }
    let (_, places) = blocks("");
    let is_dead = |place: &String| place.contains("dead");
    assert!(!places.iter().any(is_dead), "{places:?}");
}

#[test]
fn locals_of_optimized_code_name_what_they_hold() {
    check(&["-Cdebuginfo=2", "-Copt-level=3"]);
}

#[test]
fn locals_of_code_that_is_not_optimized_name_what_they_hold() {
    check(&["-Cdebuginfo=2", "-Copt-level=0"]);
}

#[test]
fn without_variables_in_debug_information_stacks_have_no_names() {
    let (snapshot, _) = taken(&["-Cdebuginfo=limited", "-Copt-level=3"]);
    assert_eq!(snapshot.basis(), Basis::Shapes);
    let (_, places) = at(&snapshot, "");
    assert!(
        !places.iter().any(|place| place.contains("::state")),
        "{places:?}"
    );
}
