//! Short names, for narrow cells.

use super::segment::{Part, Segment, first_part, segments};
use super::{FunctionName, Language};
use crate::containers;

/// Names that are shown if one of several is right.
const MOST_NAMES: usize = 3;
/// Slices inside slices, and visitors inside visitors, that a short name looks into.
const MOST_NESTED: usize = 16;

/// Joins several names if one of them is right but unknown: `one of make, build`. Each name appears
/// once; of many names, only the first few do.
pub(crate) fn one_of(all: impl IntoIterator<Item = String>) -> String {
    let mut names: Vec<String> = Vec::new();
    for name in all {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let shown = names.len().min(MOST_NAMES);
    let more = if shown < names.len() {
        ", \u{2026}"
    } else {
        ""
    };
    match names.as_slice() {
        [one] => one.clone(),
        _ => format!("one of {}{more}", names[..shown].join(", ")),
    }
}

/// A type without references, pointers, `dyn` and `mut`: these do not change whose type it is.
pub(super) fn without_pointers(mut of: &str) -> &str {
    loop {
        of = of.trim_start_matches(['&', '*', ' ']);
        let words = ["mut ", "const ", "dyn "];
        match words.iter().find_map(|word| of.strip_prefix(word)) {
            Some(rest) => of = rest,
            None => return of,
        }
    }
}

/// Returns `true` if a word stands for any type: `T`, `K2`, `Self`, `_`.
fn is_parameter(of: &str) -> bool {
    of == "Self" || of == "_" || (of.len() <= 2 && of.starts_with(|c: char| c.is_ascii_uppercase()))
}

/// The type that a macro's visitor makes: `app::Product` of
/// `app::_::<impl Deserialize for app::Product>::deserialize::__Visitor`.
fn visited<'a>(segments: &[Segment<'a>]) -> Option<&'a str> {
    if !segments.last()?.name().starts_with("__") {
        return None;
    }
    segments
        .iter()
        .rev()
        .find_map(|segment| match segment.part {
            Part::Impl { of, .. } => Some(of),
            _ => None,
        })
}

/// The short name of a type: `Vec` of `&mut alloc::vec::Vec<u8>`, `[u8]` of `[u8; 4]`.
fn short_type(of: &str, depth: usize) -> String {
    // The first trait of `dyn Shape + Send` names it.
    let plain = first_part(without_pointers(of), "+");
    if depth > MOST_NESTED {
        return "..".to_owned();
    }
    if let Some(rest) = plain.strip_prefix('[')
        && let Some(element) = rest.strip_suffix(']')
    {
        return format!("[{}]", short_type(first_part(element, ";"), depth + 1));
    }
    if plain.starts_with('(') {
        return "(..)".to_owned();
    }
    let segments = segments(plain);
    if let Some(made) = visited(&segments) {
        return short_type(made, depth + 1);
    }
    let is_impl = |segment: &&Segment<'_>| matches!(segment.part, Part::Impl { .. });
    match segments.iter().rfind(|segment| !is_impl(segment)) {
        Some(segment) if segment.is_body() => "{{closure}}".to_owned(),
        Some(segment) => segment
            .plain
            .split(' ')
            .next()
            .unwrap_or(segment.plain)
            .to_owned(),
        None => plain.to_owned(),
    }
}

/// The type that nearly all functions of a module are methods of.
fn type_of_module(path: &[Segment<'_>]) -> Option<&'static str> {
    let path: Vec<&str> = path.iter().map(|segment| segment.text).collect();
    containers::type_of_module(&path.join("::"))
}

/// Returns the part before the function in its short name: its type, else its module.
fn parent(before: &[Segment<'_>], language: Language) -> Option<String> {
    let found = before.iter().enumerate().rev().find_map(|(at, segment)| {
        let named = || Some(segment.name().to_owned());
        match segment.part {
            Part::Impl {
                of,
                implements,
                is_block,
            } if at == 0 || is_block => {
                let is_any = is_parameter(without_pointers(of));
                match implements {
                    Some(implemented) if is_any => Some(short_type(implemented, 0)),
                    // `<impl *mut T>` does not say more than the module before it.
                    None if is_any => None,
                    _ => Some(short_type(of, 0)),
                }
            }
            // Namespaces such as `std::__cxx11` are the library's own business.
            Part::Named if language == Language::Cpp && segment.plain.starts_with("__") => None,
            Part::Named => named(),
            Part::Closure if language == Language::Cpp => named(),
            _ => None,
        }
    });
    // Without a linkage name only the module is known. For these modules the type is all but
    // certain.
    match (found, type_of_module(before)) {
        (Some(found), Some(of)) if found.starts_with(char::is_lowercase) => Some(of.to_owned()),
        (found, _) => found,
    }
}

impl FunctionName<'_> {
    /// The name for narrow cells: the last two segments without generic arguments, with the type in
    /// place of the impl.
    ///
    /// `alloc::vec::Vec<T,A>::push` is `Vec::push`,
    /// `<alloc::string::String as core::clone::Clone>::clone` is `String::clone`,
    /// `serde_json::de::from_str::<X>` is `de::from_str`, `app::load::{{closure}}` is
    /// `load::{{closure}}`, and `std::vector<int>::push_back(int&&)` of C++ is `vector::push_back`.
    pub(crate) fn short(&self) -> String {
        self.short_with(true)
    }

    /// The [`short`](FunctionName::short) name of the function that a closure, or the body of an
    /// async function, stands in: `app::load` of `app::load::{{closure}}`. For other functions,
    /// their own short name.
    pub(crate) fn short_outer(&self) -> String {
        self.short_with(false)
    }

    fn short_with(&self, keeps_closure: bool) -> String {
        let Some(at) = self.function() else {
            return self.text.to_owned();
        };
        let (before, rest) = self.segments.split_at(at);
        let function = rest[0].name();
        let has_closure = keeps_closure && rest.iter().any(Segment::is_body);
        let is_rust = self.is_rust();
        let suffix = match (has_closure, is_rust) {
            (false, _) => "",
            (true, true) => "::{{closure}}",
            (true, false) => "::{lambda}",
        };
        let is_module = |parent: &str| {
            is_rust && parent.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
        };
        match parent(before, self.language) {
            // `main::{{closure}}` says enough; the closure of a method keeps the type.
            Some(parent) if !(has_closure && is_module(&parent)) => {
                format!("{parent}::{function}{suffix}")
            }
            _ => format!("{function}{suffix}"),
        }
    }
}
