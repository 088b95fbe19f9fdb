//! `std::unordered_map`, `std::unordered_set` and those with equal keys: an array of buckets, and a
//! node for each entry.

use super::{ContainerType, Element, Stacks, TypeKind};

pub(super) static CONTAINERS: &[&ContainerType] = &[&MAP, &MULTIMAP, &SET, &MULTISET];

/// The table, which does not tell maps from sets, and libc++'s.
const TABLE: &[&str] = &["std::_Hashtable", "std::__detail", "std::__hash_table"];

const fn map(path: &'static str) -> ContainerType {
    ContainerType {
        stacks: Stacks {
            below: TABLE,
            parameters: 2,
            element: Element::Entry,
            ..Stacks::of_one_argument()
        },
        ..ContainerType::new(path, TypeKind::Map)
    }
}

const fn set(path: &'static str) -> ContainerType {
    ContainerType {
        stacks: Stacks {
            below: TABLE,
            ..Stacks::of_one_argument()
        },
        ..ContainerType::new(path, TypeKind::Map)
    }
}

static MAP: ContainerType = map("std::unordered_map");
static MULTIMAP: ContainerType = map("std::unordered_multimap");
static SET: ContainerType = set("std::unordered_set");
static MULTISET: ContainerType = set("std::unordered_multiset");
