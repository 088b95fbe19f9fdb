//! Snapshots at moments when the length of a list is not where its header says: everything is held,
//! and no finding says that it is not.

use super::held::taken_of;
use crate::common::Target;
use heapglass_profiler::advice::{Kind, advise};
use heapglass_profiler::profile::Profile;
use heapglass_profiler::snapshot::HolderName;

fn taken(kind: &str) -> Profile {
    taken_of(Target::case(&["lengths", kind]), 2)
}

/// Checks that all is reached, and that only the lists that are empty are said to be.
fn assert_held(profile: &Profile) {
    for snapshot in profile.snapshots() {
        let sums = snapshot.held();
        let nodes = snapshot.holders().iter().zip(&sums);
        let lost = nodes.filter(|(node, _)| node.name == HolderName::Nothing);
        let lost: u64 = lost.map(|(_, held)| held.bytes).sum();
        // What the standard library holds in ways of its own.
        assert!(lost < 512, "{lost} bytes are not reached");
        let of_idle = 200 * 1024 * 8;
        assert!(snapshot.unknown_length_bytes() > 0);
        assert!(snapshot.unknown_length_bytes() + of_idle < snapshot.bytes());
    }
    let found = advise(profile, true);
    let is_false = |kind| {
        matches!(
            kind,
            Kind::Unreachable | Kind::Cycle | Kind::HeldBySmallPart | Kind::SmallMap
        )
    };
    assert!(!found.iter().any(|one| is_false(one.kind)), "{found:#?}");
    let empty = found
        .iter()
        .filter(|one| one.kind == Kind::EmptyContainer && one.saves_bytes > 4096);
    let empty: Vec<u64> = empty.map(|one| one.saves_blocks).collect();
    assert_eq!(empty, [200], "{found:#?}");
}

/// Checks that no capacity of a type is said to be unused.
fn assert_used(profile: &Profile, type_name: &str) {
    let found = advise(profile, true);
    let unused = found.iter().filter(|one| one.kind == Kind::UnusedCapacity);
    let names = unused.filter_map(|one| one.place.type_name.as_deref());
    assert!(
        !names.into_iter().any(|name| name == type_name),
        "{found:#?}"
    );
}

#[test]
fn a_number_beside_the_words_of_a_list_is_no_length() {
    let profile = taken("words-apart");
    assert_held(&profile);
    assert_used(&profile, "Vec<HashMap<u32, u64>>");
}

#[test]
fn a_list_that_is_emptied_holds_what_is_not_dropped_yet() {
    for kind in ["emptied-local", "emptied-field"] {
        let profile = taken(kind);
        assert_held(&profile);
        assert_used(&profile, "Vec<Entry>");
    }
}

#[test]
fn a_list_that_is_filled_holds_what_is_in_it() {
    for kind in ["collected", "extended"] {
        let profile = taken(kind);
        assert_held(&profile);
        assert_used(&profile, "Vec<Row>");
    }
}

#[test]
fn a_text_on_a_stack_is_not_said_to_be_unused() {
    let profile = taken("text");
    assert_held(&profile);
    assert_used(&profile, "String");
}
