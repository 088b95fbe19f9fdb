//! The methods of containers that advice speaks of. Advice must never name a method that the type
//! does not have: a container that is not known has none of them.

use crate::containers::{self, Growth};

/// Returns how the type with this full name grows: `alloc::vec::Vec<u64>`.
fn growth(full: &str) -> Growth {
    containers::of(full).map_or(Growth::NONE, |container| container.growth)
}

/// Returns `true` if a container grows by `realloc` and has `with_capacity`.
pub(super) fn grows_by_realloc(full: &str) -> bool {
    growth(full).grows_by_realloc
}

/// Returns `true` if a container keeps its block when it is cleared.
pub(super) fn keeps_its_block(full: &str) -> bool {
    growth(full).clears
}

/// Returns `true` if a container has `shrink_to_fit`.
pub(super) fn shrinks(full: &str) -> bool {
    growth(full).shrinks
}

/// Returns `true` if the values of a container can be made in an arena.
pub(super) fn fits_arena(full: &str) -> bool {
    growth(full).fits_arena && !full.contains("<dyn ")
}

/// Returns the type that holds the same as a container without unused capacity.
pub(super) fn exact_type(full: &str) -> Option<&'static str> {
    growth(full).exact_type
}

/// Returns `true` if serde fills an old value of a container in place.
pub(super) fn fills_in_place(full: &str) -> bool {
    growth(full).fills_in_place
}

/// Crates whose types store short texts inline, and hold longer ones in a block that looks like
/// that of a `String`.
const INLINE_TEXTS: [&str; 14] = [
    "arrayvec",
    "arraystring",
    "beef",
    "byteyarn",
    "compact_str",
    "ecow",
    "flexstr",
    "heapless",
    "hipstr",
    "inlinable_string",
    "kstring",
    "smartstring",
    "smol_str",
    "tinystr",
];

/// Returns `true` if a crate has a type that stores short texts inline.
pub(super) fn stores_texts_inline(krate: &str) -> bool {
    INLINE_TEXTS.contains(&krate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_types_with_a_method_are_said_to_have_it() {
        for full in [
            "alloc::vec::Vec<u8>",
            "std::path::PathBuf",
            "std::collections::hash::map::HashMap<u8, alloc::vec::Vec<u8>>",
            "indexmap::set::IndexSet<u8>",
            "hashbrown::table::HashTable<u8>",
            "smallvec::SmallVec<[u8; 4]>",
        ] {
            assert!(shrinks(full) && keeps_its_block(full), "{full}");
        }
        for full in [
            "alloc::collections::btree::map::BTreeMap<u8, alloc::vec::Vec<u8>>",
            "alloc::collections::linked_list::LinkedList<u8>",
            "bytes::bytes_mut::BytesMut",
            "bumpalo::collections::vec::Vec<u8>",
            "alloc::boxed::Box<[u8]>",
            "alloc::ffi::c_str::CString",
            "alloc::sync::Arc<alloc::vec::Vec<u8>>",
        ] {
            assert!(!shrinks(full) && !keeps_its_block(full), "{full}");
            assert!(!grows_by_realloc(full), "{full}");
        }
        assert!(fits_arena("alloc::boxed::Box<[u64; 5]>"));
        for full in [
            "alloc::rc::Rc<app::Node>",
            "alloc::sync::Arc<str>",
            "alloc::collections::btree::map::BTreeMap<u8, u8>",
            "std::collections::hash::map::HashMap<u8, u8>",
            "alloc::boxed::Box<dyn app::Shape>",
        ] {
            assert!(!fits_arena(full), "{full}");
        }
    }
}
