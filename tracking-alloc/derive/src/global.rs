//! Types that own global memory, recognized by name. The compiler rejects them by type; the
//! messages here explain why.

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Error, GenericArgument, Path, PathArguments, PathSegment, Type};

/// Owners of global memory in std (name, number of type arguments without an allocator), with a
/// replacement.
const OWNERS: [(&str, usize, &str); 16] = [
    ("String", 0, TEXT),
    ("Vec", 1, VECTOR),
    ("Box", 1, BOXED),
    ("Rc", 1, SHARED),
    ("Arc", 1, SHARED),
    ("Cow", 1, "`&{a} T`: it is copied into the arena"),
    ("HashMap", 2, PAIRS),
    ("BTreeMap", 2, PAIRS),
    ("HashSet", 1, "`&{a} [T]`"),
    ("BTreeSet", 1, "`&{a} [T]`"),
    ("VecDeque", 1, LIST),
    ("LinkedList", 1, LIST),
    ("BinaryHeap", 1, LIST),
    ("PathBuf", 0, "`&{a} str`"),
    ("OsString", 0, "`&{a} str`"),
    ("CString", 0, "`&{a} [u8]`"),
];

const TEXT: &str =
    "`&{a} str`, `bumpalo::collections::String<{a}>` or `bump_scope::BumpString<&{a} Bump>`";
const VECTOR: &str =
    "`&{a} [T]`, `bumpalo::collections::Vec<{a}, T>` or `bump_scope::BumpVec<T, &{a} Bump>`";
const BOXED: &str = "`&{a} T`, `&{a} mut T` or `bumpalo::boxed::Box<{a}, T>`";
const SHARED: &str = "`&{a} T`: references into an arena are shared for nothing";
const LIST: &str = "`&{a} [T]` or `bumpalo::collections::Vec<{a}, T>`";
const PAIRS: &str =
    "`&{a} [(K, V)]` with `#[arena(deserialize_with = \"tracking_alloc::arena::map_as_pairs\")]`";

/// Returns an error if `ty`, or a type inside it, owns global memory. `field` is its name in the
/// message, `arena` the lifetime.
pub(crate) fn refuse(ty: &Type, field: &str, arena: &str) -> Result<(), Error> {
    let mut search = Search { found: None };
    search.visit_type(ty);
    let Some((path, owner, instead)) = search.found else {
        return Ok(());
    };
    let instead = instead.replace("{a}", arena);
    Err(Error::new(
        path.span(),
        format!(
            "{field} owns global memory: an arena never drops what lies in it, so what `{owner}` allocates would leak.\n\
             Use {instead}.\n\
             If it must own global memory, say so: `#[arena(global)]`"
        ),
    ))
}

struct Search<'t> {
    found: Option<(&'t Path, &'static str, &'static str)>,
}

impl<'t> Visit<'t> for Search<'t> {
    fn visit_path(&mut self, path: &'t Path) {
        if self.found.is_none() {
            self.found = owner(path).map(|(name, instead)| (path, name, instead));
        }
        visit::visit_path(self, path);
    }
}

/// Returns the owner that a path names with its last segment, unless the path shows that it is an
/// arena's type.
fn owner(path: &Path) -> Option<(&'static str, &'static str)> {
    let last = path.segments.last()?;
    let (name, types, instead) = OWNERS.iter().find(|(name, ..)| last.ident == name)?;
    if path.segments.len() > 1 && !is_of_std(path) || is_of_arena(last, name, *types) {
        return None;
    }
    Some((name, instead))
}

/// Modules of std that are used in paths of owners, after a `use std::..`.
const MODULES: &str = "string vec boxed rc sync borrow path ffi \
    collections hash_map hash_set btree_map btree_set";

/// Returns `true` if a path with modules is std's: it begins with one of std's crates, or has std's
/// own module before the name.
fn is_of_std(path: &Path) -> bool {
    let Some(first) = path.segments.first().map(|first| first.ident.to_string()) else {
        return false;
    };
    // `collections::HashMap`, `vec::Vec`; but not `bumpalo::collections::Vec`.
    ["std", "alloc", "core"].contains(&first.as_str())
        || path.segments.len() == 2
            && path.leading_colon.is_none()
            && MODULES.split(' ').any(|module| module == first)
}

/// Returns `true` if it is an arena's type of the same name, with a lifetime (`Vec<'bump, T>`) or
/// an allocator (`Vec<T, &'bump A>`).
fn is_of_arena(segment: &PathSegment, name: &str, types: usize) -> bool {
    let PathArguments::AngleBracketed(arguments) = &segment.arguments else {
        return false;
    };
    let mut given = arguments.args.iter();
    let has_lifetime = given.any(|given| matches!(given, GenericArgument::Lifetime(_)));
    let given = arguments.args.iter();
    let given = given.filter(|given| matches!(given, GenericArgument::Type(_)));
    // A hasher is not an allocator.
    let hashed = usize::from(name == "HashMap" || name == "HashSet");
    has_lifetime && name != "Cow" || given.count() > types + hashed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(ty: &str) -> bool {
        let ty: Type = syn::parse_str(ty).unwrap();
        refuse(&ty, "the field", "'a").is_err()
    }

    #[test]
    fn owners_of_global_memory_are_refused_wherever_they_stand() {
        for ty in [
            "String",
            "std::string::String",
            "alloc::vec::Vec<u8>",
            "Option<String>",
            "&'a [Vec<u8>]",
            "(u8, Box<u8>)",
            "[Box<u8>; 4]",
            "bumpalo::collections::Vec<'a, String>",
            "HashMap<u8, u8>",
            "HashMap<u8, u8, FxBuildHasher>",
            "collections::BTreeMap<u8, u8>",
            "Cow<'a, str>",
            "std::borrow::Cow<'de, str>",
            "Box<dyn Fn()>",
        ] {
            assert!(refused(ty), "{ty}");
        }
    }

    #[test]
    fn an_arenas_types_of_the_same_name_are_not() {
        for ty in [
            "String<'a>",
            "Vec<'a, u8>",
            "Box<'a, u8>",
            "bumpalo::collections::String<'a>",
            "Vec<u8, &'a Bump>",
            "hashbrown::HashMap<u8, u8, S, &'a Bump>",
            "&'a str",
            "&'a [&'a [u8]]",
            "my::String",
        ] {
            assert!(!refused(ty), "{ty}");
        }
    }
}
