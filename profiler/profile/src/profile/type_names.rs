//! Names of types that share a short name: with as much of their paths as tells them apart, and no
//! more.
//!
//! `Vec<nfa::State>` and `Vec<dfa::State>`, not `alloc::vec::Vec<regex::nfa::State>`.

use super::{Profile, TypeId};
use std::collections::HashMap;

/// Returns those of some types, each given once, that share their short name with another type;
/// types of one name are together.
pub(crate) fn sharing_a_name(
    profile: &Profile,
    ids: impl IntoIterator<Item = TypeId>,
) -> impl Iterator<Item = Vec<TypeId>> {
    let mut by_name: HashMap<&str, Vec<TypeId>> = HashMap::new();
    for id in ids {
        if let Some(name) = profile.named_type(Some(id)) {
            by_name.entry(&name.short).or_default().push(id);
        }
    }
    by_name.into_values().filter(|ids| ids.len() > 1)
}

/// The names of types whose short name another row has too.
pub(super) fn qualified(profile: &Profile) -> HashMap<TypeId, String> {
    let ids = profile.type_rows().iter().filter_map(|row| row.type_id);
    let mut names = HashMap::new();
    for ids in sharing_a_name(profile, ids) {
        let full: Vec<&str> = ids
            .iter()
            .map(|id| profile.type_name(*id).full.as_str())
            .collect();
        names.extend(ids.iter().copied().zip(tell_apart(&full)));
    }
    names
}

/// Returns a note on a type whose name does not explain it: serde's `Content` is no type of the
/// program.
fn note(full: &str) -> Option<&'static str> {
    let is_buffer = |path: &&str| {
        let of_serde = path.starts_with("serde::") || path.starts_with("serde_core::");
        of_serde && path.contains("private") && path.ends_with("::Content")
    };
    let mut pieces = pieces(full).into_iter();
    let found = pieces.find(is_buffer);
    found.map(|_| "serde's buffer of flatten, untagged or an internal tag")
}

impl Profile {
    /// Returns a note on the values of a type, in addition to its name.
    pub fn note_of_type(&self, id: Option<TypeId>) -> Option<&'static str> {
        note(&self.named_type(id)?.full)
    }
}

/// A piece of a type's name: a path, or what stands between paths.
fn pieces(full: &str) -> Vec<&str> {
    let in_path = |c: char| c.is_alphanumeric() || matches!(c, '_' | ':' | '{' | '}' | '#');
    let mut pieces = Vec::new();
    let mut start = 0;
    let mut before = None;
    for (at, c) in full.char_indices() {
        if before.is_some_and(|before| before != in_path(c)) {
            pieces.push(&full[start..at]);
            start = at;
        }
        before = Some(in_path(c));
    }
    pieces.push(&full[start..]);
    pieces
}

/// The last `segments` of a path; closures do not count.
fn last(path: &str, segments: usize) -> &str {
    let mut left = segments;
    for (at, _) in path.rmatch_indices("::") {
        if !path[at + 2..].starts_with('{') {
            left -= 1;
            if left == 0 {
                return &path[at + 2..];
            }
        }
    }
    path
}

fn tell_apart(full: &[&str]) -> Vec<String> {
    let pieces: Vec<Vec<&str>> = full.iter().map(|full| pieces(full)).collect();
    let length = pieces.first().map_or(0, Vec::len);
    if pieces.iter().any(|one| one.len() != length) {
        return full.iter().map(|&full| full.to_owned()).collect();
    }
    let mut names = vec![String::new(); full.len()];
    for at in 0..length {
        let paths: Vec<&str> = pieces.iter().map(|one| one[at]).collect();
        let longest = paths
            .iter()
            .map(|path| path.matches("::").count() + 1)
            .max();
        // Equal paths need one segment, others as many as make equal only what is equal.
        let enough = (1..=longest.unwrap_or(1)).find(|&segments| {
            paths.iter().enumerate().all(|(i, one)| {
                paths[..i]
                    .iter()
                    .all(|other| one == other || last(one, segments) != last(other, segments))
            })
        });
        for (name, path) in names.iter_mut().zip(&paths) {
            name.push_str(enough.map_or(path, |segments| last(path, segments)));
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_buffer_of_serde_is_told_from_types_of_that_name() {
        for (full, is) in [
            (
                "alloc::vec::Vec<serde_core::private::content::Content>",
                true,
            ),
            (
                "alloc::vec::Vec<serde::__private::de::content::Content>",
                true,
            ),
            (
                "alloc::vec::Vec<(serde::__private228::de::content::Content, serde::__private228::de::content::Content)>",
                true,
            ),
            ("alloc::vec::Vec<app::private::Content>", false),
            (
                "alloc::vec::Vec<serde::__private::de::content::ContentVisitor>",
                false,
            ),
            ("alloc::vec::Vec<u8>", false),
        ] {
            assert_eq!(note(full).is_some(), is, "{full}");
        }
    }

    #[test]
    fn names_differ_in_what_tells_them_apart_alone() {
        assert_eq!(
            tell_apart(&[
                "alloc::vec::Vec<regex_automata::nfa::thompson::State>",
                "alloc::vec::Vec<regex_automata::dfa::onepass::State>",
            ]),
            ["Vec<thompson::State>", "Vec<onepass::State>"]
        );
        assert_eq!(
            tell_apart(&[
                "std::collections::hash::map::HashMap<a::v1::Key, a::v1::Value>",
                "hashbrown::map::HashMap<a::v1::Key, b::v1::Value>",
            ]),
            [
                "hash::map::HashMap<Key, a::v1::Value>",
                "hashbrown::map::HashMap<Key, b::v1::Value>"
            ]
        );
        assert_eq!(
            tell_apart(&[
                "alloc::boxed::Box<a::f::{{closure}}>",
                "alloc::boxed::Box<b::f::{{closure}}>"
            ]),
            ["Box<a::f::{{closure}}>", "Box<b::f::{{closure}}>"]
        );
        assert_eq!(tell_apart(&["a::T", "a::b::T"]), ["a::T", "b::T"]);
        assert_eq!(tell_apart(&["T", "a::T"]), ["T", "a::T"]);
    }
}
