//! Function names, read for types: the type that a function is a method of, with parameters
//! replaced by generic arguments; the module; and the arguments.
//!
//! Names come in three spellings: v0 (`<alloc::vec::Vec<u8>>::push`), legacy mangling joined with
//! the generics of `DW_AT_name` (`alloc::vec::Vec<T,A>::push<u8, Global>`), and a module path
//! guessed from the file if there is no linkage name (`alloc::vec::push<u8, Global>`). A parameter
//! (`T`) must never be taken for a type.

use crate::name::{FunctionName, Kind, Part, Tokens, types};
use crate::profile::Language;
use std::borrow::Cow;

/// A function, by what its name says about types.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Call<'a> {
    /// The type it is a method of, with its parameters replaced; `None` if the name does not say
    /// all of it.
    pub(super) of: Option<Cow<'a, str>>,
    /// `true` if it is a method of some type, known or not.
    pub(super) method: bool,
    /// The trait it implements.
    pub(super) implements: Option<&'a str>,
    /// The path before its own name: that of the module, for functions and if the type is unknown.
    pub(super) module: &'a str,
    /// Its own name, without generics.
    pub(super) name: &'a str,
    /// The generic arguments, those of the impl first; under v0 only the function's own.
    pub(super) arguments: Vec<&'a str>,
}

impl<'a> Call<'a> {
    /// Reads a name; `None` for closures, shims and names that are not paths of Rust.
    pub(super) fn of(name: &FunctionName<'a>) -> Option<Call<'a>> {
        let (last, before) = name.segments().split_last()?;
        if !name.is_rust() || last.part != Part::Named || last.text.starts_with('<') {
            return None;
        }
        let mut call = Call {
            name: last.name(),
            arguments: types(last.arguments),
            module: name.path_of(before.len()),
            ..Call::default()
        };
        let mut of = None;
        for (at, segment) in before.iter().enumerate() {
            match segment.part {
                Part::Impl {
                    of: inside,
                    implements,
                    is_block,
                } if at == 0 || is_block => {
                    of = Some(inside);
                    call.implements = implements;
                }
                _ if at > 0 && segment.text.starts_with(|c: char| c.is_ascii_uppercase()) => {
                    of = Some(name.path_of(at + 1));
                }
                _ => continue,
            }
            break;
        }
        call.method = of.is_some();
        call.of = of.and_then(|of| filled(of, &call.arguments));
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

/// The words of a type that stand alone, without a path: the indexes of their tokens.
fn lone_words(tokens: &Tokens<'_>) -> impl Iterator<Item = usize> {
    let is_lone = |at: &usize| {
        let before = at.checked_sub(1);
        let follows =
            before.is_some_and(|before| tokens.is(before, "::") || tokens.is(before, "#"));
        tokens.all()[*at].kind == Kind::Word
            && !follows
            && !tokens.is(at + 1, "::")
            && !is_binding(tokens, *at)
    };
    (0..tokens.all().len()).filter(is_lone)
}

/// Returns `true` if a word is the name of a trait's own type: `Output` of `dyn Fn() -> u8`,
/// spelled `Fn<(), Output=u8>` and `Fn<(), Output = u8>`.
fn is_binding(tokens: &Tokens<'_>, word: usize) -> bool {
    let mut after = word + 1;
    while tokens.is(after, " ") {
        after += 1;
    }
    tokens.is(after, "=") && !tokens.is(after + 1, "=")
}

/// The longest type that parameters are replaced in, bytes. A hostile name could repeat a long
/// argument any number of times.
const LONGEST_TYPE: usize = 16 << 10;

/// Returns `true` if a lone word stands for a type: `T`, `K2`, `BorrowType`, `Self`, `_`. Types
/// have a path, and primitives are lowercase.
fn is_parameter(word: &str) -> bool {
    word == "_" || word.starts_with(|c: char| c.is_ascii_uppercase())
}

/// Returns `true` if a type has neither parameters nor holes.
pub(super) fn is_whole(of: &str) -> bool {
    !of.is_empty() && !of.contains('…') && !has_parameters(&Tokens::new(of, Language::Rust))
}

fn has_parameters(tokens: &Tokens<'_>) -> bool {
    lone_words(tokens).any(|at| is_parameter(tokens.text_of(tokens.all()[at])))
}

/// A type with its parameters replaced by arguments, in the order of their first appearance; `None`
/// if there are not enough arguments, or the type gets too long.
fn filled<'a>(of: &'a str, arguments: &[&str]) -> Option<Cow<'a, str>> {
    if is_whole(of) {
        return Some(Cow::Borrowed(of));
    }
    let tokens = Tokens::new(of, Language::Rust);
    let mut parameters: Vec<&str> = Vec::new();
    let mut out = String::with_capacity(of.len());
    let mut copied = 0;
    for at in lone_words(&tokens) {
        let token = tokens.all()[at];
        let word = tokens.text_of(token);
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
        out.push_str(&of[copied..token.start]);
        out.push_str(
            arguments
                .get(number)
                .filter(|argument| is_whole(argument))?,
        );
        if out.len() > LONGEST_TYPE {
            return None;
        }
        copied = token.end;
    }
    out.push_str(&of[copied..]);
    Some(Cow::Owned(out))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: &str) -> Option<Call<'_>> {
        Call::of(&FunctionName::parse(name, Language::Rust))
    }

    fn of(name: &str) -> Option<String> {
        call(name)?.of.map(Cow::into_owned)
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
        let (many, long) = ("T,".repeat(1000), "a::B".repeat(1000));
        assert_eq!(of(&format!("alloc::vec::Vec<{many}>::push<{long}>")), None);
        assert_eq!(of("<alloc::raw_vec::RawVecInner<_>>::reserve"), None);
        assert!(call("alloc::vec::Vec<T,A>::push").is_some_and(|call| call.method));
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
        let found = call("alloc::vec::from_elem::<[u8; 2]>").expect("a call");
        assert_eq!(
            (found.module, found.name, found.argument(0), found.method),
            ("alloc::vec", "from_elem", Some("[u8; 2]"), false)
        );
        let found = call("hashbrown::raw::reserve<(u8, fn(u8) -> app::B), a::G>").expect("a call");
        assert_eq!(found.argument(0), Some("(u8, fn(u8) -> app::B)"));
        assert_eq!(call("app::main::{{closure}}"), None);
        assert_eq!(call(""), None);
    }
}
