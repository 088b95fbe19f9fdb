//! Spelling: one name for each type, whether it came from `type_name`, v0, legacy mangling or
//! `DW_AT_name`.
//!
//! The spelling is that of `type_name`: arguments that are the default (the global allocator, the
//! standard hasher) are left out, and closures are `{{closure}}`. Names come from files, so any
//! text must give some answer. An argument that is *not* the default is never dropped.

use crate::containers;
use crate::name::{Kind, Tokens, is_in_word};
use crate::profile::Language;
use std::ops::Range;

/// A bracket that is open while a name is spelled.
enum Bracket {
    /// `<`
    Angle {
        /// The path in the output whose arguments these are.
        base: Range<usize>,
        /// The position in the output at which each argument begins.
        arguments: Vec<usize>,
    },
    /// `(`
    Round {
        /// The position after it in the output.
        start: usize,
        /// `true` if it begins a tuple, not the arguments of a function.
        is_tuple: bool,
        /// `true` if it stands around `dyn A + B` for no reason, so that it is left out.
        is_dropped: bool,
        /// `true` if it has a comma of its own.
        has_comma: bool,
    },
    /// Any other.
    Other,
}

/// A name while it is spelled.
struct Speller<'a> {
    tokens: Tokens<'a>,
    out: String,
    open: Vec<Bracket>,
}

/// A full name spelled one way.
pub fn normal(name: &str) -> String {
    let name = name.trim();
    let mut speller = Speller {
        tokens: Tokens::new(name, Language::Rust),
        out: String::with_capacity(name.len()),
        open: Vec::new(),
    };
    let mut at = 0;
    while at < speller.tokens.all().len() {
        at = speller.spell(at);
    }
    speller.out
}

impl Speller<'_> {
    /// Spells the token at an index; returns the index of the next one.
    fn spell(&mut self, at: usize) -> usize {
        let token = self.tokens.all()[at];
        let text = self.tokens.text_of(token);
        match token.kind {
            Kind::Lifetime => return self.after_any(at + 1, &[" ", ","]),
            Kind::Word if text == "for" && self.is_binder(at + 1) => {
                return self.tokens.after(at + 1) + 1;
            }
            Kind::Open if self.is_closure(at) => {
                self.out.push_str("{{closure}}");
                return self.tokens.after(at);
            }
            Kind::Open => self.open(at, text),
            Kind::Close => self.close(at, text),
            Kind::Other if text == "=" && self.is_binding(at) => {
                self.out.truncate(self.out.trim_end().len());
                self.out.push_str(" = ");
                return self.after_any(at + 1, &[" "]);
            }
            Kind::Other if text == "," => {
                let next = self.after_any(at + 1, &[" "]);
                self.comma(next);
                return next;
            }
            _ => self.out.push_str(text),
        }
        at + 1
    }

    /// The index of the first token from an index on that is none of these texts.
    fn after_any(&self, mut at: usize, texts: &[&str]) -> usize {
        while texts.iter().any(|text| self.tokens.is(at, text)) {
            at += 1;
        }
        at
    }

    fn kind(&self, at: usize) -> Option<Kind> {
        self.tokens.all().get(at).map(|token| token.kind)
    }

    /// Returns `true` for the brackets of `for<'a> `.
    fn is_binder(&self, at: usize) -> bool {
        self.tokens.is(at, "<")
            && self.kind(at + 1) == Some(Kind::Lifetime)
            && self.tokens.is(self.tokens.after(at), " ")
    }

    /// Returns `true` for `{closure#0}`, `{closure_env#0}`, `{async_fn_env#0}` and
    /// `{async_block#1}`.
    fn is_closure(&self, at: usize) -> bool {
        let kinds = ["closure", "async", "coroutine", "gen_"];
        let inside = self.tokens.inside(at).unwrap_or_default();
        let word = self.tokens.text(inside);
        self.tokens.is(at, "{")
            && self.tokens.is_closed(at)
            && kinds.iter().any(|kind| word.starts_with(kind))
            && word.contains('#')
    }

    /// Returns `true` for the `=` in `Fn<(), Output=u8>`.
    fn is_binding(&self, at: usize) -> bool {
        !self.tokens.is(at + 1, "=") && !self.out.ends_with(['=', '<', '>', '!'])
    }

    fn open(&mut self, at: usize, text: &str) {
        if self.tokens.inside(at).is_none() {
            self.out.push_str(text);
            return;
        }
        let bracket = match text {
            "<" => {
                let mut base = path_before(&self.out);
                // `f::<T>` is `f<T>`.
                if self.out[base.clone()].ends_with("::") {
                    base.end -= 2;
                    self.out.truncate(base.end);
                }
                Bracket::Angle {
                    base,
                    arguments: vec![self.out.len() + 1],
                }
            }
            "(" => {
                let in_name = |letter: char| letter.is_alphanumeric() || "_:>}".contains(letter);
                let begins_argument = self.out.ends_with('<') || self.out.ends_with(", ");
                let is_dyn = self.tokens.is(at + 1, "dyn") && self.tokens.is(at + 2, " ");
                Bracket::Round {
                    start: self.out.len() + 1,
                    is_tuple: !is_dyn && !self.out.ends_with(in_name),
                    is_dropped: is_dyn && begins_argument,
                    has_comma: false,
                }
            }
            _ => Bracket::Other,
        };
        if !matches!(
            bracket,
            Bracket::Round {
                is_dropped: true,
                ..
            }
        ) {
            self.out.push_str(text);
        }
        self.open.push(bracket);
    }

    fn close(&mut self, at: usize, text: &str) {
        let bracket = if self.tokens.is_partner(at) {
            self.open.pop()
        } else {
            None
        };
        match bracket {
            Some(Bracket::Angle { base, arguments }) => {
                drop_defaults(&mut self.out, base, &arguments);
                // Only lifetimes were in there.
                if self.out.ends_with('<') {
                    self.out.pop();
                    return;
                }
            }
            Some(Bracket::Round {
                is_dropped: true, ..
            }) => return,
            // Debug information spells a tuple of one without its comma.
            Some(Bracket::Round {
                start,
                is_tuple: true,
                has_comma: false,
                ..
            }) if self.out.len() > start => self.out.push(','),
            _ => {}
        }
        self.out.push_str(text);
    }

    /// Spells a comma before the token at an index.
    fn comma(&mut self, next: usize) {
        let is_next = |text: &str| self.tokens.is(next, text);
        if self.kind(next).is_none() || is_next(">") || is_next("]") {
            return;
        }
        let is_last = is_next(")");
        self.out.push_str(if is_last { "," } else { ", " });
        match self.open.last_mut() {
            Some(Bracket::Angle { arguments, .. }) if !is_last => arguments.push(self.out.len()),
            Some(Bracket::Round { has_comma, .. }) => *has_comma = true,
            _ => {}
        }
    }
}

/// The path at the end of a text: `a::b::C` of `(x, a::b::C`.
fn path_before(text: &str) -> Range<usize> {
    let in_path = |letter: char| is_in_word(letter) || letter == ':';
    text.trim_end_matches(in_path).len()..text.len()
}

/// Removes the last arguments while they are the default of the path that they are arguments of.
fn drop_defaults(out: &mut String, base: Range<usize>, arguments: &[usize]) {
    for (index, &start) in arguments.iter().enumerate().skip(1).rev() {
        let is_default = out
            .get(start..)
            .is_some_and(|argument| is_default(&out[base.clone()], index, argument));
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
        _ => containers::by_path(base).is_some_and(|of| {
            index == of.stacks.parameters && of.stacks.hashers.contains(&argument)
        }),
    }
}

/// A full name without module paths: `Vec<Sailor>` of `alloc::vec::Vec<app::Sailor>`. A closure
/// keeps the function that it stands in.
pub fn short(full: &str) -> String {
    let tokens = Tokens::new(full, Language::Rust);
    let is_impl = |at: usize| tokens.is(at + 1, "impl") && tokens.is(at + 2, "#");
    let mut out = String::with_capacity(full.len());
    // The start of the last word in the output.
    let mut word = 0;
    let mut at = 0;
    while let Some(&token) = tokens.all().get(at) {
        let is_made = tokens.is(at, "{");
        // An impl in the middle of a path says no more than a module.
        if is_made && is_impl(at) && tokens.is(tokens.after(at), "::") {
            at = tokens.after(at) + 1;
            continue;
        }
        at += 1;
        match token.kind {
            // `<T as Trait>::Name` has no path to lose, and `main::{{closure}}` would say nothing
            // without its path.
            Kind::Separator if word == out.len() || (tokens.is(at, "{") && !is_impl(at)) => {
                out.push_str("::");
                word = out.len();
            }
            // `std::vector`: types of the standard library of C++ are named with it. Those of Rust
            // are in modules.
            Kind::Separator if is_of_cpp(&tokens, at) && out[word..] == *"std" => {
                out.push_str("::");
                word = out.len();
            }
            Kind::Separator => out.truncate(word),
            Kind::Word => out.push_str(tokens.text_of(token)),
            _ => {
                out.push_str(tokens.text_of(token));
                word = out.len();
            }
        }
    }
    out
}

/// Returns `true` for a word at an index that no separator follows, and that begins as names of
/// types in C++ do.
fn is_of_cpp(tokens: &Tokens<'_>, at: usize) -> bool {
    let text = tokens.all().get(at).map(|token| tokens.text_of(*token));
    let is_lower = text.is_some_and(|text| text.starts_with(|c: char| c.is_ascii_lowercase()));
    is_lower && !tokens.is(at + 1, "::")
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
            short("std::vector<app::Point<std::string>>"),
            "std::vector<Point<std::string>>"
        );
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
