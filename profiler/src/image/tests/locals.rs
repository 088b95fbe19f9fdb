//! Types of what hangs on the locals of stacks.

use super::*;
use crate::OpenOptions;
use crate::snapshot::{Basis, Held, HolderName, Snapshot};

pub(super) const LOCALS: &str = include_str!("programs/locals.rs");

/// Returns the figures of all blocks at a place.
fn at(snapshot: &Snapshot, place: &str) -> Held {
    let mut sum = Held::default();
    for node in snapshot.holders() {
        if matches!(&node.name, HolderName::Site(_, text) if text == place) {
            node.own.iter().for_each(|held| sum.add(held));
        }
    }
    sum
}

pub(super) fn check(image: &Image, folder: &Path, line: &str) {
    assert_eq!(image.threads.len(), 2);
    let taken = image.snapshot(&OpenOptions::default(), &|_| ());
    let taken = taken.expect("a snapshot");
    let snapshot = &taken.snapshot;
    assert_eq!(snapshot.basis(), Basis::Types);
    let places: Vec<String> = snapshot
        .holders()
        .iter()
        .map(|node| format!("{:?}", node.name))
        .collect();
    let unused = line.split_ascii_whitespace();
    let unused = unused.map(|word| word.parse::<u64>().expect("a number"));
    // What the program counted itself: from a local to lists, texts, deques and boxes.
    for (place, unused) in ["user", "roles[]", "seen[]", "data.bytes"]
        .iter()
        .zip(unused)
    {
        let held = at(snapshot, &format!("main::state.sessions{{}}.{place}"));
        assert_eq!(held.unused_bytes, unused, "{place}: {places:?}");
        assert_eq!(held.known_bytes, held.bytes, "{place}");
    }
    assert_eq!(
        at(snapshot, "main::state.names[]").blocks,
        301,
        "{places:?}"
    );
    let lines = at(snapshot, "main::{closure#0}::own.lines[]");
    // The list and its texts.
    assert_eq!(lines.blocks, 501, "{places:?}");
    let all: u64 = snapshot
        .holders()
        .iter()
        .flat_map(|node| &node.own)
        .map(|held| held.bytes)
        .sum();
    let nameless = at(snapshot, "").bytes;
    assert!(nameless < all / 50, "{nameless} of {all}: {places:?}");
    let notes = snapshot.notes();
    assert!(
        notes[0].contains("glibc") && notes[0].contains("usable sizes"),
        "{notes:?}"
    );
    let bytes = image.recording(&taken);
    let path = folder.join("snapshot.hgs");
    std::fs::write(&path, bytes).expect("a file");
    let profile = crate::open(&path, &OpenOptions::default(), &|_| ()).expect("a recording");
    assert_eq!(profile.lost().damaged, 0);
    assert_eq!(profile.snapshots().len(), 1);
    assert_eq!(profile.totals().live_bytes, snapshot.moment().live_bytes);
}

#[test]
fn locals_of_stacks_give_the_heap_its_types_and_exact_figures() {
    let mut program = Waiting::of_rust(LOCALS);
    let line = program.line.clone();
    let gcore = program.gcore();
    let folder = program.folder.path().to_owned();
    let of_core = |core: &PathBuf| Image::of_core(core, None).expect("an image");
    if let Some(core) = &gcore {
        check(&of_core(core), &folder, &line);
    }
    let kernel = program.kernel_core();
    if let Some(core) = &kernel {
        check(&of_core(core), &folder, &line);
    }
    if gcore.is_none() && kernel.is_none() {
        eprintln!("not tested: there is no gcore, and the kernel writes no core here");
    }
}
