//! Rules for the facts about containers.

use super::*;
use std::collections::HashSet;

#[test]
fn each_container_and_each_type_of_a_value_is_listed_once() {
    let mut paths = HashSet::new();
    let mut values = HashSet::new();
    for container in all() {
        assert!(paths.insert(container.path), "{container:?}");
        assert_eq!(of(container.path), Some(container));
        for (path, _) in container.values {
            assert!(values.insert(*path), "{path}");
        }
    }
}

#[test]
fn names_of_stacks_belong_to_one_container() {
    let mut names = HashSet::new();
    for container in all() {
        let stacks = &container.stacks;
        for name in stacks.also.iter().chain(stacks.modules) {
            assert!(names.insert(*name), "{name}");
        }
        assert_eq!(
            stacks.hashers.is_empty(),
            container.path.starts_with("smallvec") || stacks.more == 0
        );
    }
}

#[test]
fn facts_about_a_container_agree() {
    for container in all() {
        let growth = container.growth;
        // What shrinks or keeps its block has one.
        if growth.shrinks || growth.clears || growth.grows_by_realloc {
            assert_ne!(container.blocks, BlockKind::Unknown, "{container:?}");
        }
        assert!(!growth.grows_by_realloc || growth.shrinks, "{container:?}");
        let has_nodes = matches!(container.blocks, BlockKind::Nodes | BlockKind::Counted);
        assert_eq!(has_nodes, !container.nodes.is_empty(), "{container:?}");
        // A set is the map of its unit.
        assert!(
            container.unit.is_none() || container.kind == TypeKind::Map,
            "{container:?}"
        );
        for (part, _) in container.stacks.made_of {
            assert!(part.stacks.is_named && *part != container, "{container:?}");
        }
    }
}

#[test]
fn the_kind_of_a_type_is_that_of_its_path_not_of_its_last_word() {
    let cases = [
        ("alloc::vec::Vec<app::A>", TypeKind::Sequence),
        ("bumpalo::collections::vec::Vec<app::A>", TypeKind::Sequence),
        ("smallvec::SmallVec<[u8; 4]>", TypeKind::Sequence),
        ("hashbrown::table::HashTable<usize>", TypeKind::Map),
        ("alloc::boxed::Box<str>", TypeKind::Text),
        ("alloc::boxed::Box<std::path::Path>", TypeKind::Text),
        ("alloc::boxed::Box<[[u8; 4]]>", TypeKind::Sequence),
        ("alloc::boxed::Box<[u8; 4]>", TypeKind::Pointer),
        ("alloc::boxed::Box<dyn app::Shape>", TypeKind::Dynamic),
        (
            "alloc::boxed::Box<app::main::{{closure}}>",
            TypeKind::Dynamic,
        ),
        ("alloc::sync::Arc<[u8]>", TypeKind::Shared),
        ("std::vector<int>", TypeKind::Sequence),
        ("std::string", TypeKind::Text),
        ("app::Vec<u8>", TypeKind::Other),
        ("app::Rc", TypeKind::Other),
    ];
    for (full, kind) in cases {
        assert_eq!(TypeKind::of(full), kind, "{full}");
    }
}

#[test]
fn blocks_are_known_by_the_path_of_their_container() {
    let cases = [
        ("alloc::vec::Vec<app::A>", BlockKind::List),
        ("alloc::boxed::Box<[u8]>", BlockKind::Slice),
        ("alloc::boxed::Box<[u8; 4]>", BlockKind::Boxed),
        ("alloc::boxed::Box<[[u8; 4]]>", BlockKind::Slice),
        ("alloc::boxed::Box<dyn app::Trait>", BlockKind::Boxed),
        ("alloc::boxed::Box<str>", BlockKind::Slice),
        ("alloc::sync::Arc<[u8]>", BlockKind::Counted),
        ("hashbrown::table::HashTable<usize>", BlockKind::Table),
        // Its header is not that of a `Vec`.
        ("smallvec::SmallVec<[u8; 4]>", BlockKind::Elements),
        (
            "one of alloc::vec::Vec<u8>, alloc::vec::Vec<i8>",
            BlockKind::Unknown,
        ),
        (
            "alloc::collections::btree::map::BTreeMap<u8, u8>",
            BlockKind::Nodes,
        ),
    ];
    for (full, kind) in cases {
        assert_eq!(block_kind(full, None), kind, "{full}");
    }
}

#[test]
fn an_index_has_blocks_of_its_list_and_of_its_table() {
    let index = "indexmap::map::IndexMap<u8, u8>";
    let table = "hashbrown::table::HashTable<usize>";
    let list = "alloc::vec::Vec<indexmap::Bucket<u8, u8>>";
    assert_eq!(block_kind(index, Some(table)), BlockKind::Table);
    assert_eq!(block_kind(index, Some(list)), BlockKind::List);
    assert_eq!(block_kind(index, None), BlockKind::Unknown);
}

#[test]
fn texts_and_lists_of_bytes_have_elements_of_one_byte() {
    for full in [
        "alloc::string::String",
        "alloc::vec::Vec<u8>",
        "alloc::boxed::Box<[u8]>",
        "alloc::boxed::Box<std::ffi::os_str::OsStr>",
        "alloc::ffi::c_str::CString",
    ] {
        assert!(holds_bytes(full), "{full}");
    }
    for full in [
        "alloc::vec::Vec<alloc::string::String>",
        "alloc::boxed::Box<u8>",
        "alloc::sync::Arc<str>",
        // A part of it is in place.
        "std::string",
    ] {
        assert!(!holds_bytes(full), "{full}");
    }
}

#[test]
fn a_header_that_agrees_with_its_block_says_which_bytes_are_in_use() {
    let list = Header::List {
        capacity: 4,
        length: 3,
    };
    let (fill, unused) = list.fill(32, Some(8)).expect("it agrees");
    assert_eq!((fill.used(32, 8), unused), ([0..24, 0..0], 8));
    // A deque that continues at the start of its block.
    let deque = Header::Deque {
        capacity: 4,
        head: 3,
        length: 2,
    };
    let (fill, unused) = deque.fill(32, Some(8)).expect("it agrees");
    assert_eq!((fill.used(32, 8), unused), ([24..32, 0..8], 16));
    assert_eq!(Fill::unpacked(fill.packed().expect("it fits")), Some(fill));
    // Of another size, or of elements that are not known.
    assert_eq!(list.fill(40, Some(8)), None);
    assert_eq!(list.fill(32, None), None);
    // The size of a table's buckets is known from its control bytes.
    let table = Header::Table {
        buckets: 4,
        control: 32,
        items: 3,
    };
    let (fill, unused) = table.fill(32 + 4 + 16, None).expect("it agrees");
    assert_eq!(unused, 8);
    assert_eq!(Fill::unpacked(fill.packed().expect("it fits")), Some(fill));
}
