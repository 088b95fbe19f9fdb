//! `std::map`, `std::set` and those with equal keys: a tree with a node for each entry.

use super::ContainerType;

pub(super) static CONTAINERS: &[&ContainerType] = &[&MAP, &MULTIMAP, &SET, &MULTISET];

/// The tree does not tell maps from sets, nor does libc++'s.
const TREE: &[&str] = &["std::_Rb_tree", "std::__tree", "std::__map_value_compare"];

static MAP: ContainerType = ContainerType::map_of_cpp("std::map", TREE);
static MULTIMAP: ContainerType = ContainerType::map_of_cpp("std::multimap", TREE);
static SET: ContainerType = ContainerType::set_of_cpp("std::set", TREE);
static MULTISET: ContainerType = ContainerType::set_of_cpp("std::multiset", TREE);
