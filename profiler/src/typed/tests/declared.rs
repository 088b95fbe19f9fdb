//! Containers that a program declares: how full they are, and what they hold.

use super::*;
use crate::containers::DeclaredContainer;

const DECLARED: &str = include_str!("programs/declared.rs");
const POOLS: usize = 150;
const POOL_BYTES: u64 = 800;

fn pool(length: &str) -> DeclaredContainer {
    DeclaredContainer {
        path: "declared::own::Pool".to_owned(),
        pointer: "first".to_owned(),
        capacity: "room".to_owned(),
        length: length.to_owned(),
    }
}

/// Returns the number of pools whose unused bytes are known, the sum of these bytes, and the notes.
fn unused(run: &Run, declared: &[DeclaredContainer]) -> (usize, u64, Vec<String>) {
    let heap = run.dump.heap();
    let layouts = layouts_of(&run.program, &run.dump, &heap, &[], declared);
    let analysis = analyse(heap, &run.dump, &layouts, &|_| ());
    let blocks = 0..analysis.heap().len();
    let pools = blocks.filter(|&block| analysis.heap().size(block) == POOL_BYTES);
    let known: Vec<u64> = pools
        .filter_map(|block| analysis.unused_bytes(block))
        .collect();
    (known.len(), known.iter().sum(), layouts.notes().to_vec())
}

#[test]
fn a_declared_list_is_as_full_as_its_length_says() {
    for level in ["-Copt-level=0", "-Copt-level=2"] {
        let flags = [level, "--crate-name=declared", "-oprogram"];
        let run = Run::new(DECLARED, POOLS, &flags);
        let (known, bytes, notes) = unused(&run, &[pool("used")]);
        assert_eq!((known, bytes), (POOLS, run.truth("unused")), "{level}");
        assert!(notes.is_empty(), "{notes:?}");
        assert_eq!(unused(&run, &[]).0, 0, "{level}");
        // A field that is not there, and one that is no word.
        for wrong in ["misspelt", "made"] {
            let (known, _, notes) = unused(&run, &[pool(wrong)]);
            assert_eq!(known, 0, "{level}");
            assert_eq!(
                notes,
                [format!(
                    "the declared container `declared::own::Pool` is not read: it has no field \
                     `{wrong}` of 8 bytes"
                )]
            );
        }
        let mut elsewhere = pool("used");
        elsewhere.path = "declared::Pool".to_owned();
        let (known, _, notes) = unused(&run, &[elsewhere]);
        assert_eq!(known, 0, "{level}");
        assert!(
            notes[0].contains("`declared::Pool` is not in the debug information"),
            "{notes:?}"
        );
    }
}
