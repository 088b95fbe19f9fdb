//! Spelling: one name a type, whichever of `type_name`, v0, legacy mangling or `DW_AT_name` it came from.

use crate::profile::TypeKind;

/// A full name spelled one way: without the global allocator, with `, ` between arguments.
pub fn normal(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut rest = name.trim();
    while let Some(next) = rest.chars().next() {
        rest = &rest[next.len_utf8()..];
        out.push(next);
        if next == ',' {
            rest = rest.trim_start();
            if !rest.is_empty() {
                out.push(' ');
            }
        }
    }
    out.replace(", alloc::alloc::Global", "")
}

/// A full name without module paths: `Vec<Sailor>` of `alloc::vec::Vec<app::Sailor>`.
pub fn short(full: &str) -> String {
    let mut out = String::with_capacity(full.len());
    let mut word = 0;
    let mut rest = full;
    while let Some(next) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("::") {
            out.truncate(word);
            rest = after;
            continue;
        }
        rest = &rest[next.len_utf8()..];
        out.push(next);
        if !(next.is_alphanumeric() || next == '_') {
            word = out.len();
        }
    }
    out
}

/// What kind of container a type is, by its full name.
pub fn kind_of(full: &str) -> TypeKind {
    let name = full.split('<').next().unwrap_or(full);
    match name.rsplit("::").next().unwrap_or(name) {
        "String" | "PathBuf" | "OsString" | "CString" => TypeKind::Text,
        "Vec" | "VecDeque" | "BinaryHeap" => TypeKind::Sequence,
        "HashMap" | "BTreeMap" | "HashSet" | "BTreeSet" | "IndexMap" | "IndexSet" => TypeKind::Map,
        "Rc" | "Arc" => TypeKind::Shared,
        "Box" if full.ends_with("<str>") => TypeKind::Text,
        "Box" if full.ends_with("]>") => TypeKind::Sequence,
        "Box" if full.contains("<dyn ") || full.contains("{{closure}}") => TypeKind::Dynamic,
        "Box" | "LinkedList" => TypeKind::Pointer,
        _ => TypeKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_name_keeps_generics_and_loses_paths() {
        assert_eq!(
            short("std::collections::hash::map::HashMap<alloc::string::String, [app::a::B; 3]>"),
            "HashMap<String, [B; 3]>"
        );
        assert_eq!(short("&str"), "&str");
    }

    #[test]
    fn a_normal_name_has_one_spelling() {
        assert_eq!(
            normal("alloc::vec::Vec<u8,alloc::alloc::Global>"),
            "alloc::vec::Vec<u8>"
        );
    }
}
