//! `std::map`, `std::set` and those with equal keys: a tree with a node for each entry.

use super::{ContainerType, Element, Stacks, TypeKind};

pub(super) static CONTAINERS: &[&ContainerType] = &[&MAP, &MULTIMAP, &SET, &MULTISET];

/// The tree does not tell maps from sets, nor does libc++'s.
const TREE: &[&str] = &["std::_Rb_tree", "std::__tree", "std::__map_value_compare"];

const fn map(path: &'static str) -> ContainerType {
    ContainerType {
        stacks: Stacks {
            below: TREE,
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
            below: TREE,
            ..Stacks::of_one_argument()
        },
        ..ContainerType::new(path, TypeKind::Map)
    }
}

static MAP: ContainerType = map("std::map");
static MULTIMAP: ContainerType = map("std::multimap");
static SET: ContainerType = set("std::set");
static MULTISET: ContainerType = set("std::multiset");
