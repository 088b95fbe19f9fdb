//! `std::unordered_map`, `std::unordered_set` and those with equal keys: an array of buckets, and a
//! node for each entry.

use super::ContainerType;

pub(super) static CONTAINERS: &[&ContainerType] = &[&MAP, &MULTIMAP, &SET, &MULTISET];

/// The table, which does not tell maps from sets, and libc++'s.
const TABLE: &[&str] = &["std::_Hashtable", "std::__detail", "std::__hash_table"];

static MAP: ContainerType = ContainerType::map_of_cpp("std::unordered_map", TABLE);
static MULTIMAP: ContainerType = ContainerType::map_of_cpp("std::unordered_multimap", TABLE);
static SET: ContainerType = ContainerType::set_of_cpp("std::unordered_set", TABLE);
static MULTISET: ContainerType = ContainerType::set_of_cpp("std::unordered_multiset", TABLE);
