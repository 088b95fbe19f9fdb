//! A function's name taken apart: the type it is a method of, the module, the name and the generic
//! arguments.
//!
//! Three spellings come in: v0 (`<alloc::vec::Vec<u8>>::push`), legacy mangling joined with the
//! generics of `DW_AT_name` (`alloc::vec::Vec<T,A>::push<u8, Global>`), and a module path guessed
//! from the file where there are no linkage names (`alloc::vec::push<u8, Global>`). It must never
//! take a parameter (`T`) for a type.

use crate::symbols::{each_outermost, segments, self_type};
use std::borrow::Cow;

/// A function's name, taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Call<'a> {
    /// The type it is a method of, with its parameters replaced; `None` where the name does not
    /// say, or not whole.
    pub(super) of: Option<Cow<'a, str>>,
    /// `true` if it is a method of some type, known or not.
    pub(super) method: bool,
    /// The trait it implements.
    pub(super) implements: Option<&'a str>,
    /// The path before it: a module's for functions and where the type is not known.
    pub(super) module: Cow<'a, str>,
    /// Its own name, without generics.
    pub(super) name: &'a str,
    /// Generic arguments, the impl's first; none under v0 but the function's own.
    pub(super) arguments: Vec<&'a str>,
}

impl<'a> Call<'a> {
    /// Takes a name apart; `None` for closures, shims and what is no Rust path.
    pub(super) fn parse(name: &'a str) -> Option<Call<'a>> {
        let mut all = segments(name);
        let mut arguments = Vec::new();
        if all.len() > 1
            && let Some(last) = all.last()
            && last.starts_with('<')
            && !last.starts_with("<impl ")
        {
            arguments = split_arguments(last);
            all.pop();
        }
        let (last, before) = all.split_last()?;
        if last.starts_with(['{', '<']) {
            return None;
        }
        let (name, generics) = last.split_at(last.find('<').unwrap_or(last.len()));
        if !generics.is_empty() {
            arguments = split_arguments(generics);
        }
        let mut call = Call {
            name: name.split("{{").next().unwrap_or(name),
            arguments,
            ..Call::default()
        };
        let mut of: Option<Cow<'a, str>> = None;
        for (at, segment) in before.iter().enumerate() {
            if let Some((inside, implements)) = self_type(segment)
                && (at == 0 || segment.starts_with("<impl "))
            {
                of = Some(Cow::Borrowed(inside));
                call.implements = implements;
                break;
            }
            if at > 0 && segment.starts_with(|c: char| c.is_ascii_uppercase()) {
                let path = before.get(..=at).unwrap_or_default();
                of = Some(Cow::Owned(path.join("::")));
                break;
            }
        }
        call.method = of.is_some();
        call.of = of.and_then(|of| filled(of, &call.arguments));
        call.module = match before {
            [only] => Cow::Borrowed(only),
            _ => Cow::Owned(before.join("::")),
        };
        Some(call)
    }

    /// The generic argument at a place, if it is a whole type.
    pub(super) fn argument(&self, index: usize) -> Option<&'a str> {
        self.arguments
            .get(index)
            .copied()
            .filter(|argument| is_whole(argument))
    }
}

/// The arguments of `<A, B<C, D>>`; none if that is not what the text is.
fn split_arguments(text: &str) -> Vec<&str> {
    let inside = text
        .strip_prefix('<')
        .and_then(|rest| rest.strip_suffix('>'));
    inside.map(split_types).unwrap_or_default()
}

/// Splits a text at the commas outside all brackets: `A`, `'a` and `B<C, D>` of `A, 'a, B<C, D>`.
pub(super) fn split_outermost_commas(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    each_outermost(text, |at, rest| {
        if rest.starts_with(',') {
            parts.push(text.get(start..at).unwrap_or_default().trim());
            start = at + 1;
        }
    });
    parts.push(text.get(start..).unwrap_or_default().trim());
    parts
}

/// Returns the types among them, without lifetimes and empty parts.
pub(super) fn split_types(text: &str) -> Vec<&str> {
    let mut types = split_outermost_commas(text);
    types.retain(|part| !part.is_empty() && !part.starts_with('\''));
    types
}

/// A type as path and arguments: `alloc::vec::Vec` and `[u8]` of `alloc::vec::Vec<u8>`.
pub(super) fn path_and_arguments(of: &str) -> (&str, Vec<&str>) {
    let at = of.find('<').filter(|&at| at > 0);
    let (path, generics) = of.split_at(at.unwrap_or(of.len()));
    (path, split_arguments(generics))
}

/// The words of a type that stand alone (no path): where each begins and ends.
fn lone_words(of: &str) -> Vec<(usize, usize)> {
    let mut words = Vec::new();
    let mut start = None;
    for (at, c) in of.char_indices().chain([(of.len(), ' ')]) {
        let in_word = c.is_alphanumeric() || c == '_';
        match (start, in_word) {
            (None, true) => start = Some(at),
            (Some(begin), false) => {
                let before = of.get(..begin).unwrap_or_default();
                let after = of.get(at..).unwrap_or_default();
                if !before.ends_with("::")
                    && !before.ends_with(['#', '\''])
                    && !after.starts_with("::")
                    && !is_binding(after)
                {
                    words.push((begin, at));
                }
                start = None;
            }
            _ => {}
        }
    }
    words
}

/// Returns `true` if what follows a word makes it the name of a trait's own type: `Output` of
/// `dyn Fn() -> u8`, spelled `Fn<(), Output=u8>` and `Fn<(), Output = u8>`.
fn is_binding(after: &str) -> bool {
    let after = after.trim_start();
    after.starts_with('=') && !after.starts_with("=>") && !after.starts_with("==")
}

/// Returns `true` if a lone word stands for a type: `T`, `K2`, `BorrowType`, `Self`, `_`. Types
/// have a path, primitives are in small letters.
fn is_parameter(word: &str) -> bool {
    word == "_" || word.starts_with(|c: char| c.is_ascii_uppercase())
}

/// Returns `true` if a type has no parameters left, nor holes.
pub(super) fn is_whole(of: &str) -> bool {
    !of.is_empty()
        && !of.contains('…')
        && lone_words(of)
            .iter()
            .all(|&(start, end)| !is_parameter(of.get(start..end).unwrap_or_default()))
}

/// A type with its parameters replaced by arguments, in the order they first appear; `None` where
/// those run out.
fn filled<'a>(of: Cow<'a, str>, arguments: &[&str]) -> Option<Cow<'a, str>> {
    if is_whole(&of) {
        return Some(of);
    }
    let mut parameters: Vec<&str> = Vec::new();
    let mut out = String::with_capacity(of.len());
    let mut copied = 0;
    for (start, end) in lone_words(&of) {
        let word = of.get(start..end)?;
        if !is_parameter(word) {
            continue;
        }
        let number = match parameters.iter().position(|known| *known == word) {
            Some(number) => number,
            None => {
                parameters.push(word);
                parameters.len() - 1
            }
        };
        out.push_str(of.get(copied..start)?);
        out.push_str(
            arguments
                .get(number)
                .filter(|argument| is_whole(argument))?,
        );
        copied = end;
    }
    out.push_str(of.get(copied..)?);
    Some(Cow::Owned(out))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str) -> Option<String> {
        Call::parse(name)?.of.map(Cow::into_owned)
    }

    #[test]
    fn the_type_of_a_method_is_told_by_every_spelling() {
        for name in [
            "<alloc::vec::Vec<app::A>>::push",
            "alloc::vec::Vec<T>::push<app::A, alloc::alloc::Global>",
            "<alloc::vec::Vec<app::A> as core::iter::FromIterator<app::A>>::from_iter::<app::I>",
            "<alloc::vec::Vec<T> as core::iter::FromIterator<T>>::from_iter<app::A, app::I>",
            "alloc::x::<impl core::clone::Clone for alloc::vec::Vec<T>>::clone<app::A>",
        ] {
            assert_eq!(
                of(name).as_deref(),
                Some("alloc::vec::Vec<app::A>"),
                "{name}"
            );
        }
        assert_eq!(
            of("alloc::slice::<impl [T]>::to_vec<(u8, app::A), alloc::alloc::Global>").as_deref(),
            Some("[(u8, app::A)]")
        );
        assert_eq!(
            of("alloc::string::String::push_str").as_deref(),
            Some("alloc::string::String")
        );
    }

    #[test]
    fn parameters_are_never_taken_for_types() {
        assert_eq!(of("alloc::vec::Vec<T,A>::push"), None);
        assert_eq!(of("alloc::vec::Vec<T,A>::push<u8>"), None);
        assert_eq!(of("<alloc::raw_vec::RawVecInner<_>>::reserve"), None);
        assert!(Call::parse("alloc::vec::Vec<T,A>::push").is_some_and(|call| call.method));
        assert!(is_whole("app::T<u8, [app::B; 3]>") && !is_whole("app::A<T>"));
        assert!(is_whole("app::main::{closure#0}::{closure_env#1}"));
    }

    #[test]
    fn the_names_of_a_traits_own_types_are_no_parameters() {
        for whole in [
            "dyn core::ops::function::Fn<(u32), Output=u32> + core::marker::Send",
            "dyn core::iter::traits::iterator::Iterator<Item = app::A>",
            "core::pin::Pin<alloc::boxed::Box<dyn core::future::future::Future<Output=()>>>",
        ] {
            assert!(is_whole(whole), "{whole}");
            assert_eq!(
                of(&format!("alloc::vec::Vec<T,A>::push<{whole}, a::G>")),
                Some(format!("alloc::vec::Vec<{whole},a::G>"))
            );
        }
        assert!(!is_whole("dyn app::Reads<Item=T>"));
        assert!(!is_whole("dyn app::Reads<Item = Self>"));
    }

    #[test]
    fn a_function_in_a_module_has_arguments_and_no_type() {
        let call = Call::parse("alloc::vec::from_elem::<[u8; 2]>").expect("a call");
        assert_eq!(
            (&*call.module, call.name, call.argument(0), call.method),
            ("alloc::vec", "from_elem", Some("[u8; 2]"), false)
        );
        let call =
            Call::parse("hashbrown::raw::reserve<(u8, fn(u8) -> app::B), a::G>").expect("a call");
        assert_eq!(call.argument(0), Some("(u8, fn(u8) -> app::B)"));
        assert_eq!(Call::parse("app::main::{{closure}}"), None);
        assert_eq!(Call::parse(""), None);
    }
}
