//! Paths taken apart: the segments of a function's or a type's name.

use super::Language;
use super::tokens::{Kind, Tokens};
use std::ops::Range;

/// A segment of a path, between two `::`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment<'a> {
    /// The byte of the name at which it starts.
    pub(super) start: usize,
    /// All of it: `push::<u8>`, in C++ without the parameters of a function.
    pub(crate) text: &'a str,
    /// The text without generic arguments: `push`, `call_once{{vtable.shim}}`.
    pub(crate) plain: &'a str,
    /// The text between the brackets of its generic arguments; empty without any.
    pub(crate) arguments: &'a str,
    /// The kind of thing that the segment names.
    pub(crate) part: Part<'a>,
}

/// The meaning of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part<'a> {
    /// A crate, module, type or function.
    Named,
    /// `<T>`, `<T as Trait>`, `<impl T>` or `<impl Trait for T>`.
    Impl {
        /// The self type.
        of: &'a str,
        /// The trait.
        implements: Option<&'a str>,
        /// `true` if it says `impl`: such a segment stands behind the module of the impl.
        is_block: bool,
    },
    /// A closure, in C++ a lambda.
    Closure,
    /// The body of an async function or block, of a coroutine or a generator.
    Async,
    /// The compiler's own way to call a function: `{shim:vtable#0}`.
    Shim,
    /// Anything else without a name: `{impl#3}`, `_`, `(anonymous namespace)`.
    Unnamed,
}

impl<'a> Segment<'a> {
    pub(super) fn new(start: usize, text: &'a str, part: Part<'a>) -> Segment<'a> {
        Segment {
            start,
            text,
            plain: text,
            arguments: "",
            part,
        }
    }

    /// The name alone: `call_once` of `call_once{{vtable.shim}}`.
    pub(crate) fn name(&self) -> &'a str {
        match self.plain.split_once("{{") {
            Some((name, _)) if !name.is_empty() => name,
            _ => self.plain,
        }
    }

    /// Returns `true` for the code of a closure or of an async function: it belongs to the function
    /// that it stands in.
    pub(crate) fn is_body(&self) -> bool {
        matches!(self.part, Part::Closure | Part::Async)
    }

    /// The trait that the segment implements.
    pub(crate) fn implements(&self) -> Option<&'a str> {
        match self.part {
            Part::Impl { implements, .. } => implements,
            _ => None,
        }
    }
}

/// Splits a path of Rust into its segments. A turbofish belongs to the segment before it.
pub(crate) fn segments(path: &str) -> Vec<Segment<'_>> {
    of_tokens(&Tokens::new(path, Language::Rust))
}

fn of_tokens<'a>(tokens: &Tokens<'a>) -> Vec<Segment<'a>> {
    let end = tokens.all().len();
    let mut found = Vec::new();
    let mut start = 0;
    for (at, token) in tokens.outermost(0..end) {
        let is_turbofish = || {
            let is_impl = tokens.is(at + 2, "impl") && tokens.is(at + 3, " ");
            at > start && tokens.is(at + 1, "<") && !is_impl
        };
        if token.kind == Kind::Separator && !is_turbofish() {
            found.extend(segment(tokens, start..at));
            start = at + 1;
        }
    }
    found.extend(segment(tokens, start..end));
    found
}

fn segment<'a>(tokens: &Tokens<'a>, range: Range<usize>) -> Option<Segment<'a>> {
    let text = tokens.text(range.clone());
    let start = tokens.all().get(range.start)?.start;
    if text.is_empty() {
        return None;
    }
    let is_whole = tokens.is_closed(range.start) && tokens.after(range.start) == range.end;
    if text.starts_with('<') && is_whole {
        return Some(Segment::new(
            start,
            text,
            implementation(tokens, range.start),
        ));
    }
    if text.starts_with('{') {
        return Some(Segment::new(start, text, generated(text)));
    }
    if text == "_" {
        return Some(Segment::new(start, text, Part::Unnamed));
    }
    let mut outermost = tokens.outermost(range.clone());
    let generics = outermost
        .find(|&(at, _)| at > range.start && tokens.is(at, "<"))
        .filter(|(at, _)| tokens.inside(*at).is_some());
    Some(match generics {
        Some((at, _)) => {
            let plain = tokens.text(range.start..at).trim_end_matches(':');
            let inside = tokens.inside(at).unwrap_or(at..at);
            Segment {
                start,
                text,
                plain,
                arguments: tokens.text(inside.start..inside.end.min(range.end)),
                part: Part::Named,
            }
        }
        None => Segment::new(start, text, Part::Named),
    })
}

/// The type and the trait in the brackets that open at an index.
fn implementation<'a>(tokens: &Tokens<'a>, at: usize) -> Part<'a> {
    let inside = tokens.inside(at).unwrap_or(at..at);
    let is_block = tokens.is(inside.start, "impl") && tokens.is(inside.start + 1, " ");
    let (of, implements) = if is_block {
        let inside = inside.start + 2..inside.end;
        match tokens.split_at_word(inside.clone(), "for") {
            Some((implements, of)) => (of, Some(implements)),
            None => (tokens.text(inside), None),
        }
    } else {
        match tokens.split_at_word(inside.clone(), "as") {
            Some((of, implements)) => (of, Some(implements)),
            None => (tokens.text(inside), None),
        }
    };
    Part::Impl {
        of,
        implements,
        is_block,
    }
}

/// The meaning of a segment in braces: `{closure#0}`, `{{closure}}`, `{async_fn_env#0}`.
fn generated(text: &str) -> Part<'_> {
    let word = text.trim_start_matches('{');
    let begins = |words: &[&str]| words.iter().any(|begin| word.starts_with(begin));
    if begins(&["closure"]) {
        Part::Closure
    } else if begins(&["async", "coroutine", "gen_"]) {
        Part::Async
    } else if begins(&["shim"]) {
        Part::Shim
    } else {
        Part::Unnamed
    }
}

/// Splits a text at the commas outside all brackets: `A`, `'a` and `B<C, D>` of `A, 'a, B<C, D>`.
pub(crate) fn split_at_commas(text: &str) -> Vec<&str> {
    split_outermost(text, ",")
}

/// Splits a text at a sign outside all brackets.
fn split_outermost<'a>(text: &'a str, sign: &str) -> Vec<&'a str> {
    let tokens = Tokens::new(text, Language::Rust);
    let all = 0..tokens.all().len();
    let mut parts = Vec::new();
    let mut start = 0;
    for (_, token) in tokens.outermost(all) {
        if tokens.text_of(token) == sign {
            parts.push(text[start..token.start].trim());
            start = token.end;
        }
    }
    parts.push(text[start..].trim());
    parts
}

/// The types of a list of generic arguments, without lifetimes.
pub(crate) fn types(arguments: &str) -> Vec<&str> {
    let mut types = split_at_commas(arguments);
    types.retain(|part| !part.is_empty() && !part.starts_with('\''));
    types
}

/// The first of the parts that a sign separates outside all brackets: `A` of `A + B`.
pub(crate) fn first_part<'a>(text: &'a str, sign: &str) -> &'a str {
    split_outermost(text, sign)
        .first()
        .copied()
        .unwrap_or_default()
}

/// Takes apart the path and the generic arguments of a type: `alloc::vec::Vec` and `u8` of
/// `alloc::vec::Vec<u8>`.
pub fn path_and_arguments(of: &str) -> (&str, Vec<&str>) {
    let tokens = Tokens::new(of, Language::Rust);
    let all = 0..tokens.all().len();
    let last = tokens.outermost(all.clone()).last().map(|(at, _)| at);
    match last {
        Some(at) if at > 0 && tokens.is(at, "<") && tokens.is_closed(at) => {
            let path = tokens.text(0..at).trim_end_matches(':');
            let inside = tokens.inside(at).unwrap_or(at..at);
            (path, types(tokens.text(inside)))
        }
        _ => (of, Vec::new()),
    }
}

/// A name without any generic arguments, those inside its brackets included: `<Vec as
/// Clone>::clone` of `<Vec<u8> as Clone>::clone`.
pub(super) fn without_arguments(tokens: &Tokens<'_>) -> String {
    let mut out = String::new();
    let mut at = 0;
    while let Some(&token) = tokens.all().get(at) {
        let follows_name = || {
            let before = at.checked_sub(1).map(|before| tokens.all()[before].kind);
            let is_impl = tokens.is(at + 1, "impl") && tokens.is(at + 2, " ");
            matches!(before, Some(Kind::Word | Kind::Separator | Kind::Close)) && !is_impl
        };
        let text = tokens.text_of(token);
        if text == "<" && tokens.inside(at).is_some() && follows_name() {
            out.truncate(out.trim_end_matches("::").len());
            at = tokens.after(at);
        } else {
            out.push_str(text);
            at += 1;
        }
    }
    out
}
