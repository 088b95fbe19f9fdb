//! Demangled names taken apart: their segments, the type a method belongs to, the crate, the name
//! for narrow cells. Works on text from files: any input gives some answer, and none panics.

/// Names of one function or type that are shown where they are several.
const MOST_NAMES: usize = 3;

/// Splits a name at `::` of the outermost level: `["<A as B>", "f", "{closure#0}"]`.
pub(crate) fn segments(name: &str) -> Vec<&str> {
    let mut segments = Vec::new();
    let mut start = 0;
    each_outermost(name, |at, rest| {
        if rest.starts_with("::") {
            segments.push(name.get(start..at).unwrap_or_default());
            start = at + 2;
        }
    });
    segments.push(name.get(start..).unwrap_or_default());
    segments.retain(|segment| !segment.is_empty());
    segments
}

/// The text after the last `::` that is not inside brackets. Generics of the segment itself stay.
pub(super) fn last_segment(path: &str) -> &str {
    let mut start = 0;
    each_outermost(path, |at, rest| {
        // `foo::<T>`: the turbofish belongs to foo.
        if rest.starts_with("::") && !rest.starts_with("::<") {
            start = at + 2;
        }
    });
    path.get(start..).unwrap_or(path)
}

/// A segment up to its generics: `from_slice` of `from_slice<Vec<u8>>` and of
/// `from_slice::<Vec<u8>>`.
pub(super) fn strip_generics(segment: &str) -> &str {
    match segment.find('<') {
        Some(0) | None => segment,
        Some(at) => segment[..at].trim_end_matches(':'),
    }
}

/// The path a name begins with, whether or not it is in brackets: `alloc::raw_vec::..` of
/// `<alloc::raw_vec::..>::f`.
pub(super) fn path(name: &str) -> &str {
    name.trim_start_matches(['<', '&'])
        .trim_start_matches("mut ")
}

pub(crate) fn begins_with(text: &str, prefixes: &[&str]) -> bool {
    prefixes.iter().any(|prefix| text.starts_with(prefix))
}

/// The call of a closure or function pointer, where it is a function of the standard library.
pub(super) fn is_call(name: &str) -> bool {
    let called = strip_generics(last_segment(name));
    let called = called.split("{{").next().unwrap_or(called);
    matches!(called, "call_once" | "call_mut" | "call") || name.contains("FnOnce::call_once")
}

/// Returns the beginning of a text in whole characters, at most `most_bytes` bytes.
pub(super) fn beginning(text: &str, most_bytes: usize) -> &str {
    let mut end = text.len().min(most_bytes);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Calls `each` with every colon, semicolon, space and comma that is inside no bracket, and the
/// text from there on.
pub(crate) fn each_outermost(name: &str, mut each: impl FnMut(usize, &str)) {
    let bytes = name.as_bytes();
    let mut depth = 0_i32;
    for (at, &byte) in bytes.iter().enumerate() {
        match byte {
            b'<' | b'(' | b'[' | b'{' => depth += 1,
            // `->` closes nothing.
            b'>' if at > 0 && bytes[at - 1] == b'-' => {}
            b'>' | b')' | b']' | b'}' => depth -= 1,
            b':' | b';' | b' ' | b',' if depth == 0 => each(at, name.get(at..).unwrap_or_default()),
            _ => {}
        }
    }
}

/// The two sides of a separator outside all brackets: `T` and `Trait` of `T as Trait`.
pub(crate) fn split_outermost<'a>(text: &'a str, separator: &str) -> Option<(&'a str, &'a str)> {
    let mut found = None;
    each_outermost(text, |at, rest| {
        if found.is_none() && rest.starts_with(separator) {
            found = Some(at);
        }
    });
    let at = found?;
    Some((text.get(..at)?, text.get(at + separator.len()..)?))
}

/// `T` and, if it is a trait's method, `Trait` of `<T as Trait>` and `<impl Trait for T>`.
pub(crate) fn self_type(segment: &str) -> Option<(&str, Option<&str>)> {
    let inside = segment.strip_prefix('<')?.strip_suffix('>')?;
    if let Some(implemented) = inside.strip_prefix("impl ") {
        return Some(match split_outermost(implemented, " for ") {
            Some((implemented, of)) => (of, Some(implemented)),
            None => (implemented, None),
        });
    }
    Some(match split_outermost(inside, " as ") {
        Some((of, implemented)) => (of, Some(implemented)),
        None => (inside, None),
    })
}

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

/// A type without what does not change whose it is: references, pointers, `dyn`, `mut`.
fn plain(mut of: &str) -> &str {
    loop {
        of = of.trim_start_matches(['&', '*', ' ']);
        let words = ["mut ", "const ", "dyn "];
        match words.iter().find_map(|word| of.strip_prefix(word)) {
            Some(rest) => of = rest,
            None => return of,
        }
    }
}

/// `T`, `K2`, `Self`, `_`: stands for a type, names none.
fn is_parameter(of: &str) -> bool {
    of == "Self" || of == "_" || (of.len() <= 2 && of.starts_with(|c: char| c.is_ascii_uppercase()))
}

/// The type that a macro's visitor makes: `app::Product` of
/// `app::_::<impl Deserialize for app::Product>::deserialize::__Visitor`.
fn visited(of: &str) -> Option<&str> {
    let segments = segments(of);
    let last = strip_generics(segments.last()?);
    if !last.starts_with("__") {
        return None;
    }
    let made = segments.iter().rfind(|segment| segment.starts_with('<'))?;
    self_type(made).map(|(of, _)| of)
}

/// A type for narrow cells: `Vec` of `&mut alloc::vec::Vec<u8>`, `[u8]` of `[u8]`.
fn short_type(of: &str) -> String {
    let plain = plain(of);
    // `dyn Shape + Send`: the first names it.
    let plain = split_outermost(plain, " + ").map_or(plain, |(first, _)| first);
    if let Some(rest) = plain.strip_prefix('[')
        && let Some(element) = rest.strip_suffix(']')
    {
        let element = split_outermost(element, "; ").map_or(element, |(element, _)| element);
        return format!("[{}]", short_type(element));
    }
    if plain.starts_with('(') {
        return "(..)".to_owned();
    }
    if let Some(made) = visited(plain) {
        return short_type(made);
    }
    let segments = segments(plain);
    match segments.iter().rfind(|segment| !segment.starts_with('<')) {
        Some(segment) if is_closure(segment) => "{{closure}}".to_owned(),
        Some(segment) => strip_generics(segment.split(' ').next().unwrap_or(segment)).to_owned(),
        None => plain.to_owned(),
    }
}

fn is_closure(segment: &str) -> bool {
    segment.starts_with("{closure") || segment.starts_with("{{closure")
}

/// A name for narrow cells: the last two segments without generics, the type instead of the impl.
///
/// `alloc::vec::Vec<T,A>::push` is `Vec::push`,
/// `<alloc::string::String as core::clone::Clone>::clone` is `String::clone`,
/// `serde_json::de::from_str::<X>` is `de::from_str`, `app::load::{{closure}}` is
/// `load::{{closure}}`.
pub(super) fn short(name: &str) -> String {
    short_with(name, true)
}

/// The [`short`] name of the function that a closure, or the body of an async function, stands in;
/// of other functions their own: `app::load` of `app::load::{{closure}}`.
pub(super) fn short_outer(name: &str) -> String {
    short_with(name, false)
}

fn short_with(name: &str, keeps_closure: bool) -> String {
    let all = segments(name);
    let mut rest: &[&str] = &all;
    let mut closure = false;
    while let [before @ .., last] = rest {
        let is_closure = is_closure(last);
        let is_noise = last.starts_with("{shim") || (last.starts_with('<') && !before.is_empty());
        if !is_closure && !is_noise {
            break;
        }
        closure |= is_closure && keeps_closure;
        rest = before;
    }
    let Some((function, before)) = rest.split_last() else {
        return name.to_owned();
    };
    let function = match function.split_once("{{") {
        Some((function, _)) if !function.is_empty() => strip_generics(function),
        _ => strip_generics(function),
    };
    let parent = before.iter().enumerate().rev().find_map(|(at, segment)| {
        if let Some((of, implemented)) = self_type(segment) {
            let is_impl = at == 0 || segment.starts_with("<impl ");
            return match implemented {
                _ if !is_impl => None,
                Some(implemented) if is_parameter(plain(of)) => Some(short_type(implemented)),
                // `<impl *mut T>` says nothing: the module before it does.
                None if is_parameter(plain(of)) => None,
                _ => Some(short_type(of)),
            };
        }
        let noise = *segment == "_" || segment.starts_with('{') || segment.starts_with('<');
        (!noise).then(|| strip_generics(segment).to_owned())
    });
    let suffix = if closure { "::{{closure}}" } else { "" };
    // Without a linkage name only the module is told; of these the type is as good as certain.
    let parent = match (parent, type_of_module(before)) {
        (Some(parent), Some(of)) if parent.starts_with(char::is_lowercase) => Some(of.to_owned()),
        (parent, _) => parent,
    };
    let is_module = |parent: &str| parent.starts_with(|c: char| c.is_ascii_lowercase() || c == '_');
    match parent {
        // `main::{{closure}}` says enough; a method's closure keeps its type.
        Some(parent) if !(closure && is_module(&parent)) => format!("{parent}::{function}{suffix}"),
        _ => format!("{function}{suffix}"),
    }
}

/// The type that nearly all functions of a module of the standard library are methods of.
fn type_of_module(path: &[&str]) -> Option<&'static str> {
    let of = match path {
        ["alloc", "vec"] => "Vec",
        ["alloc", "string"] => "String",
        ["alloc", "boxed"] => "Box",
        ["alloc", "rc"] => "Rc",
        ["alloc", "sync"] => "Arc",
        ["alloc", "collections", "vec_deque"] => "VecDeque",
        ["alloc", "collections", "btree", "map"] => "BTreeMap",
        ["alloc", "collections", "btree", "set"] => "BTreeSet",
        ["std", "collections", "hash", "map"] | ["hashbrown", "map"] => "HashMap",
        ["std", "collections", "hash", "set"] | ["hashbrown", "set"] => "HashSet",
        _ => return None,
    };
    Some(of)
}

/// The crate a path begins with: `alloc` of `alloc::vec::Vec<T>`; none for primitives, parameters,
/// tuples.
fn crate_of_type(of: &str) -> Option<&str> {
    let plain = plain(of);
    let segments = segments(plain);
    let first = strip_generics(segments.first()?);
    if let Some((of, implemented)) = self_type(segments.first()?) {
        return crate_of_type(of).or_else(|| crate_of_type(implemented?));
    }
    let identifier = first.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && first.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    (segments.len() > 1 && identifier).then_some(first)
}

/// Crates of the standard library and what it is built on.
pub(super) fn is_std_crate(krate: &str) -> bool {
    matches!(
        krate,
        "core"
            | "alloc"
            | "std"
            | "proc_macro"
            | "test"
            | "hashbrown"
            | "compiler_builtins"
            | "panic_unwind"
            | "panic_abort"
            | "unwind"
            | "std_detect"
            | "__rustc"
    )
}

/// Returns `true` for what a crate has of a trait of another one:
/// `<app::City as prost::Message>::encode_raw`.
pub(super) fn is_of_foreign_trait(name: &str) -> bool {
    let own = crate_of(name);
    own.is_some()
        && segments(name).into_iter().any(|segment| {
            let implemented = self_type(segment).and_then(|(_, implemented)| implemented);
            let of = implemented.and_then(crate_of_type);
            of.is_some() && of != own
        })
}

/// The crate a function belongs to, from its name alone.
///
/// An impl stands in the crate of the type or of the trait; where the type is the standard
/// library's (or nobody's), only the trait's crate can have written it.
pub(super) fn crate_of(name: &str) -> Option<&str> {
    let segments = segments(name);
    let first = segments.first()?;
    let Some((of, implemented)) = self_type(first) else {
        let first = strip_generics(first);
        return (segments.len() > 1 && !first.starts_with(['{', '<', '_']))
            .then_some(first)
            .or((first == "__rustc").then_some(first));
    };
    let of = crate_of_type(of);
    let implemented = implemented.and_then(crate_of_type);
    match (of, implemented) {
        (Some(of), Some(implemented)) if is_std_crate(of) && !is_std_crate(implemented) => {
            Some(implemented)
        }
        (Some(of), _) => Some(of),
        // Methods of primitives.
        (None, implemented) => implemented.or(Some("core")),
    }
}
