//! Spelling: one name a type, whichever of `type_name`, v0, legacy mangling or `DW_AT_name` it came
//! from.
//!
//! The spelling is `type_name`'s: arguments that are the default (the global allocator, the
//! standard hasher) are left out, closures are `{{closure}}`. Works on text from files: any input
//! gives some answer, none panics, and an argument that is *not* the default is never dropped.

use super::call::split_types;

/// Arguments open at the same time; what nests deeper is copied as it is.
const MAX_DEPTH: usize = 64;

/// An open `<`.
struct Angle {
    /// Whose arguments they are.
    base: String,
    /// The position in the output where each begins.
    arguments: Vec<usize>,
    /// Round and square brackets open in it: commas inside them do not part its arguments.
    inside: usize,
}

/// An open `(`.
struct Round {
    /// Its position in the output.
    start: usize,
    /// `true` if it begins a tuple, not the arguments of a function.
    is_tuple: bool,
    /// `true` if it is around `dyn A + B` where nothing needs it, so that it is left out.
    is_dropped: bool,
}

/// A full name spelled one way.
pub(super) fn normal(name: &str) -> String {
    let name = name.trim();
    let mut out = String::with_capacity(name.len());
    let mut angles: Vec<Angle> = Vec::new();
    let mut rounds: Vec<Round> = Vec::new();
    let mut rest = name;
    while let Some(next) = rest.chars().next() {
        if let Some(after) = closure(rest) {
            out.push_str("{{closure}}");
            rest = after;
            continue;
        }
        if next == '\''
            && let Some(after) = lifetime(rest)
        {
            rest = after;
            continue;
        }
        if let Some(after) = rest.strip_prefix("for<'")
            && !out.ends_with(|c: char| c.is_alphanumeric() || c == '_')
            && let Some((_, after)) = after.split_once("> ")
        {
            rest = after;
            continue;
        }
        rest = &rest[next.len_utf8()..];
        match next {
            '=' if !rest.starts_with(['=', '>']) && !out.ends_with(['=', '<', '>', '!']) => {
                out.truncate(out.trim_end().len());
                out.push_str(" = ");
                rest = rest.trim_start();
            }
            '<' if angles.len() < MAX_DEPTH => {
                let base = path_before(&out).to_owned();
                // `f::<T>` is `f<T>`.
                if base.ends_with("::") {
                    out.truncate(out.len() - 2);
                }
                out.push('<');
                angles.push(Angle {
                    base,
                    arguments: vec![out.len()],
                    inside: 0,
                });
            }
            '>' if out.ends_with(['-', '=']) => out.push('>'),
            '>' => {
                if let Some(angle) = angles.pop() {
                    drop_defaults(&mut out, &angle.base, &angle.arguments);
                    // Nothing but lifetimes was in there.
                    if out.ends_with('<') {
                        out.pop();
                        continue;
                    }
                }
                out.push('>');
            }
            ',' => {
                rest = rest.trim_start();
                if rest.is_empty() || rest.starts_with(['>', ']']) {
                    continue;
                }
                if rest.starts_with(')') {
                    out.push(',');
                    continue;
                }
                out.push_str(", ");
                if let Some(angle) = angles.last_mut()
                    && angle.inside == 0
                {
                    angle.arguments.push(out.len());
                }
            }
            '(' | '[' => {
                if let Some(angle) = angles.last_mut() {
                    angle.inside += 1;
                }
                if next == '(' {
                    let known = rounds.len() < MAX_DEPTH;
                    let in_name = |c: char| c.is_alphanumeric() || "_:>}".contains(c);
                    let begins_argument = out.ends_with('<') || out.ends_with(", ");
                    let is_dropped = known && rest.starts_with("dyn ") && begins_argument;
                    rounds.push(Round {
                        start: out.len(),
                        is_tuple: known && !out.ends_with(in_name),
                        is_dropped,
                    });
                    if is_dropped {
                        continue;
                    }
                }
                out.push(next);
            }
            ')' | ']' => {
                if let Some(angle) = angles.last_mut() {
                    angle.inside = angle.inside.saturating_sub(1);
                }
                if next == ')'
                    && let Some(round) = rounds.pop()
                {
                    if round.is_dropped {
                        continue;
                    }
                    if round.is_tuple && is_tuple_of_one(&out, round.start) {
                        out.push(',');
                    }
                }
                out.push(next);
            }
            _ => out.push(next),
        }
    }
    out
}

/// Returns `true` if what stands after a `(` is a tuple of one without its comma, as debug
/// information spells it.
fn is_tuple_of_one(out: &str, start: usize) -> bool {
    let inside = out.get(start + 1..).unwrap_or_default();
    !inside.is_empty()
        && !inside.ends_with(',')
        && !inside.starts_with("dyn ")
        && split_types(inside).len() == 1
}

/// Returns the text after `{closure#0}`, `{closure_env#0}`, `{async_fn_env#0}` or `{async_block#1}`
/// at the start of a text.
fn closure(text: &str) -> Option<&str> {
    let inside = text.strip_prefix('{')?;
    let kind = ["closure", "async", "coroutine", "gen_"];
    if !kind.iter().any(|kind| inside.starts_with(kind)) {
        return None;
    }
    let (word, after) = inside.split_once('}')?;
    word.contains('#').then_some(after)
}

/// Returns the text after a lifetime (`'a `, `'static `) at the start of a text.
fn lifetime(text: &str) -> Option<&str> {
    let word = text.strip_prefix('\'')?;
    let end = word
        .find(|c: char| !(c.is_alphanumeric() || c == '_'))
        .unwrap_or(word.len());
    let after = word.get(end..)?;
    // A character constant is no lifetime.
    (end > 0 && !after.starts_with('\'')).then(|| after.trim_start_matches([' ', ',']))
}

/// The path at the end of a text: `a::b::C` of `(x, a::b::C`.
fn path_before(text: &str) -> &str {
    let start = text
        .rfind(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'))
        .map_or(0, |at| {
            at + text[at..].chars().next().map_or(1, char::len_utf8)
        });
    text.get(start..).unwrap_or_default()
}

/// Takes the last arguments away while they are the default of what they are arguments of.
fn drop_defaults(out: &mut String, base: &str, arguments: &[usize]) {
    for (index, &start) in arguments.iter().enumerate().skip(1).rev() {
        let is_default = out
            .get(start..)
            .is_some_and(|argument| is_default(base, index, argument));
        if !is_default {
            return;
        }
        out.truncate(start);
        while out.ends_with([' ', ',']) {
            out.pop();
        }
    }
}

/// Returns `true` if an argument is the default of its type.
fn is_default(base: &str, index: usize, argument: &str) -> bool {
    let base = base.trim_end_matches(':');
    let krate = base.split("::").next().unwrap_or(base);
    match argument {
        "alloc::alloc::Global" => matches!(krate, "alloc" | "std" | "hashbrown"),
        "allocator_api2::stable::alloc::global::Global"
        | "hashbrown::alloc::inner::Global"
        | "hashbrown::raw::alloc::inner::Global" => {
            matches!(krate, "hashbrown" | "allocator_api2" | "indexmap")
        }
        "std::hash::random::RandomState" | "std::collections::hash::map::RandomState" => {
            matches!(
                (base, index),
                ("std::collections::hash::map::HashMap", 2)
                    | ("std::collections::hash::set::HashSet", 1)
                    | ("indexmap::map::IndexMap", 2)
                    | ("indexmap::set::IndexSet", 1)
            )
        }
        "foldhash::fast::RandomState" | "hashbrown::hasher::DefaultHashBuilder" => matches!(
            (base, index),
            ("hashbrown::map::HashMap", 2) | ("hashbrown::set::HashSet", 1)
        ),
        _ => false,
    }
}

/// A full name without module paths: `Vec<Sailor>` of `alloc::vec::Vec<app::Sailor>`; a closure
/// keeps the function it is in.
pub(super) fn short(full: &str) -> String {
    let mut out = String::with_capacity(full.len());
    let mut word = 0;
    let mut rest = full;
    while let Some(next) = rest.chars().next() {
        // An impl in the middle of a path is a module for all that a short name says.
        if let Some(inside) = rest.strip_prefix("{impl#")
            && let Some((_, after)) = inside.split_once("}::")
        {
            rest = after;
            continue;
        }
        if let Some(after) = rest.strip_prefix("::") {
            // `<T as Trait>::Name` has no path to lose, `main::{{closure}}` would say nothing
            // without it.
            if word == out.len() || (after.starts_with('{') && !after.starts_with("{impl#")) {
                out.push_str("::");
                word = out.len();
            } else {
                out.truncate(word);
            }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::TypeKind;

    #[test]
    fn a_short_name_keeps_generics_and_loses_paths() {
        assert_eq!(
            short("std::collections::hash::map::HashMap<alloc::string::String, [app::a::B; 3]>"),
            "HashMap<String, [B; 3]>"
        );
        assert_eq!(short("&str"), "&str");
        assert_eq!(
            short("alloc::boxed::Box<app::main::{{closure}}>"),
            "Box<main::{{closure}}>"
        );
        assert_eq!(
            short("alloc::vec::Vec<fn(app::A) -> app::B>"),
            "Vec<fn(A) -> B>"
        );
        assert_eq!(
            short("alloc::boxed::Box<alloc::boxed::convert::{impl#17}::from::StringError>"),
            "Box<StringError>"
        );
        assert_eq!(
            short("app::{impl#3}::load::{{closure}}"),
            "load::{{closure}}"
        );
    }

    #[test]
    fn brackets_that_are_values_hide_no_default() {
        for bracket in ['(', '['] {
            let inner = format!("app::Until<'{bracket}'>");
            assert_eq!(
                normal(&format!("alloc::vec::Vec<{inner}, alloc::alloc::Global>")),
                format!("alloc::vec::Vec<{inner}>")
            );
        }
    }

    #[test]
    fn a_normal_name_has_one_spelling() {
        for (spelled, expected) in [
            (
                "alloc::vec::Vec<u8,alloc::alloc::Global>",
                "alloc::vec::Vec<u8>",
            ),
            (
                "std::collections::hash::map::HashMap<u64, alloc::vec::Vec<u8, alloc::alloc::Global>, std::hash::random::RandomState>",
                "std::collections::hash::map::HashMap<u64, alloc::vec::Vec<u8>>",
            ),
            (
                "hashbrown::map::HashMap<u64, (), std::hash::random::RandomState, alloc::alloc::Global>",
                "hashbrown::map::HashMap<u64, (), std::hash::random::RandomState>",
            ),
            (
                "std::collections::hash::map::HashMap<u64, app::V, app::Fast>",
                "std::collections::hash::map::HashMap<u64, app::V, app::Fast>",
            ),
            (
                "alloc::boxed::Box<app::main::{closure#67}::{closure_env#0}, alloc::alloc::Global>",
                "alloc::boxed::Box<app::main::{{closure}}::{{closure}}>",
            ),
            (
                "app::Pool<alloc::alloc::Global>",
                "app::Pool<alloc::alloc::Global>",
            ),
            ("app::load::{async_fn_env#0}", "app::load::{{closure}}"),
            ("app::Text<'static>", "app::Text"),
            ("&'a str", "&str"),
            ("(u8,)", "(u8,)"),
            ("fn(u8, u8) -> (u8,u8)", "fn(u8, u8) -> (u8, u8)"),
            ("app::f::<u8>", "app::f<u8>"),
            // Debug information, v0.
            (
                "alloc::boxed::Box<(dyn core::ops::function::Fn<(u32), Output=(u8)> + core::marker::Send), alloc::alloc::Global>",
                "alloc::boxed::Box<dyn core::ops::function::Fn<(u32,), Output = (u8,)> + core::marker::Send>",
            ),
            (
                "alloc::boxed::Box<dyn core::ops::function::Fn<(u32,), Output = (u8,)> + core::marker::Send>",
                "alloc::boxed::Box<dyn core::ops::function::Fn<(u32,), Output = (u8,)> + core::marker::Send>",
            ),
            (
                "alloc::vec::Vec<alloc::boxed::Box<dyn for<'a> app::Reads<&'a str>>>",
                "alloc::vec::Vec<alloc::boxed::Box<dyn app::Reads<&str>>>",
            ),
            ("&(dyn app::A + app::B)", "&(dyn app::A + app::B)"),
            ("(app::A<u8, u8>)", "(app::A<u8, u8>,)"),
        ] {
            assert_eq!(normal(spelled), expected, "{spelled}");
        }
    }

    #[test]
    fn broken_names_are_spelled_somehow() {
        for name in [
            "",
            "<",
            ">",
            ">>>",
            "<,,>",
            "a<b",
            "{closure#",
            "'",
            "ä<'ü>",
            "(((",
        ] {
            let spelled = normal(name);
            assert_eq!(normal(&spelled), normal(&normal(&spelled)), "{name}");
            let _ = (short(name), TypeKind::of(name));
        }
        assert!(normal(&"a<".repeat(10_000)).len() >= 10_000);
    }
}
