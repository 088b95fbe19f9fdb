//! A stack as it would read if a function on it were another one with the same machine code.
//!
//! Equal functions are compiled to one, and the symbol table may keep the names of all. Where they
//! are instances of one generic function (`make::<Metre>`, `make::<Second>`), what differs in the
//! names is put in its place in the functions inlined there too; of any other function only its
//! name is known, so that what is inlined there is left out.

use super::frame::StackFrame;
use crate::name::split_at_commas;
use crate::profile::{Function, FunctionId};
use std::collections::HashMap;
use std::rc::Rc;

/// Functions under other names, numbered like the others of a profile, from the highest number
/// down.
#[derive(Default)]
pub(super) struct Renamed {
    functions: HashMap<(FunctionId, FunctionId, usize), (FunctionId, Rc<Function>)>,
}

impl Renamed {
    /// The last of some frames, which is not inlined, under the name of that alias, and those
    /// inlined into it, which are before it: in their places, and of the last one alone where it
    /// does not tell what would be inlined there.
    pub(super) fn functions(
        &mut self,
        frames: &[StackFrame<'_>],
        alias: usize,
    ) -> Vec<(FunctionId, Rc<Function>)> {
        let Some((own, inlined)) = frames.split_last() else {
            return Vec::new();
        };
        let name = own.function.aliases.get(alias).map_or("", String::as_str);
        let mut rename = |frame: &StackFrame<'_>, new: &dyn Fn() -> String| {
            let known = self.functions.len() as u32;
            let renamed = self.functions.entry((own.id, frame.id, alias));
            let renamed = renamed.or_insert_with(|| {
                let function = Function {
                    name: new(),
                    ..frame.function.clone()
                };
                (FunctionId(u32::MAX - known), Rc::new(function))
            });
            renamed.clone()
        };
        let mut renamed = Vec::new();
        if let Some(differences) = differences(&own.function.name, name) {
            let replaced = |frame: &StackFrame<'_>| replaced(&frame.function.name, &differences);
            renamed.extend(
                inlined
                    .iter()
                    .map(|frame| rename(frame, &|| replaced(frame))),
            );
        }
        renamed.push(rename(own, &|| name.to_owned()));
        renamed
    }
}

/// Where the names of two instances of one generic function differ: what stands in the one, and in
/// its place in the other; `None` for functions that are not such.
fn differences<'a>(one: &'a str, other: &'a str) -> Option<Vec<(&'a str, &'a str)>> {
    let begins_argument = |byte: u8| matches!(byte, b'<' | b'(' | b'[' | b',' | b' ' | b'&');
    let ends_argument = |byte: u8| matches!(byte, b'>' | b')' | b']' | b',' | b' ' | b';');
    let pairs = || one.bytes().zip(other.bytes());
    let equal = pairs().take_while(|(a, b)| a == b).count();
    let start = one.as_bytes()[..equal]
        .iter()
        .rposition(|&byte| begins_argument(byte))?
        + 1;
    let shorter = one.len().min(other.len()) - start;
    let equal_end = one
        .bytes()
        .rev()
        .zip(other.bytes().rev())
        .take(shorter)
        .take_while(|(a, b)| a == b)
        .count();
    let from = one.len() - equal_end;
    let mut end = equal_end
        - one.as_bytes()[from..]
            .iter()
            .position(|&byte| ends_argument(byte))?;
    // What differs is whole arguments: `Vec<A>` and `Option<B>`, not `Vec<A` and `Option<B`.
    loop {
        let (a, b) = (
            one.get(start..one.len() - end)?,
            other.get(start..other.len() - end)?,
        );
        if depth(a) == 0 && depth(b) == 0 {
            let (a, b) = (split_at_commas(a), split_at_commas(b));
            // Outside all brackets it is the path of the function that differs.
            let inside = depth(one.get(..start)?) > 0;
            return (inside && a.len() == b.len())
                .then(|| a.into_iter().zip(b).filter(|(a, b)| a != b).collect());
        }
        end = end.checked_sub(1)?;
    }
}

fn depth(text: &str) -> i32 {
    let bytes = text.as_bytes();
    let step = |at: usize| match bytes[at] {
        b'<' | b'(' | b'[' | b'{' => 1,
        // `->` closes nothing.
        b'>' if at > 0 && bytes[at - 1] == b'-' => 0,
        b'>' | b')' | b']' | b'}' => -1,
        _ => 0,
    };
    (0..bytes.len()).map(step).sum()
}

/// A name with what differs put in its place, wherever it is a whole path.
fn replaced(name: &str, differences: &[(&str, &str)]) -> String {
    let in_path = |letter: char| letter.is_alphanumeric() || letter == '_';
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(next) = rest.chars().next() {
        let begins = !out.ends_with(in_path) && !out.ends_with("::");
        let found = differences.iter().find(|(from, _)| {
            begins
                && !from.is_empty()
                && rest
                    .strip_prefix(from)
                    .is_some_and(|after| !after.starts_with(in_path))
        });
        match found {
            Some((from, to)) => {
                out.push_str(to);
                rest = &rest[from.len()..];
            }
            None => {
                out.push(next);
                rest = &rest[next.len_utf8()..];
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instances_differ_in_whole_arguments_and_other_functions_are_none() {
        let of = |one, other| differences(one, other);
        assert_eq!(
            of("shop::make::<shop::Metre>", "shop::make::<shop::Minute>"),
            Some(vec![("shop::Metre", "shop::Minute")])
        );
        assert_eq!(
            of("<a::Map<a::K, u8>>::f", "<a::Map<b::K, i8>>::f"),
            Some(vec![("a::K", "b::K"), ("u8", "i8")])
        );
        assert_eq!(
            of("f::<Vec<A>>", "f::<Option<B>>"),
            Some(vec![("Vec<A>", "Option<B>")])
        );
        assert_eq!(of("f::<Vec<u8>>", "f::<Vec<i8>>"), Some(vec![("u8", "i8")]));
        assert_eq!(
            of(
                "<app::A as core::clone::Clone>::clone",
                "<app::B as core::clone::Clone>::clone"
            ),
            Some(vec![("app::A", "app::B")])
        );
        for (one, other) in [
            ("shop::metre", "shop::second"),
            ("shop::make::<shop::Metre>", "shop::build::<shop::Metre>"),
            ("shop::make<shop::Metre>", "shop::make"),
            ("<A>::f", "<A>::g"),
            ("f::<A, B>", "f::<A>"),
            ("f::<u8>", ""),
            ("", "f"),
            ("<", "<<"),
            ("f<a", "f<b"),
            ("f::<\u{e4}>", "f::<\u{eb}>x"),
        ] {
            assert_eq!(of(one, other), None, "{one} {other}");
        }
    }

    #[test]
    fn whole_paths_alone_are_replaced() {
        let with = |name| replaced(name, &[("app::A", "app::B"), ("u8", "i8")]);
        assert_eq!(with("<Vec<app::A, u8>>::push"), "<Vec<app::B, i8>>::push");
        assert_eq!(with("app::A::new"), "app::B::new");
        assert_eq!(
            with("<app::Ab>::f::<my::app::A>"),
            "<app::Ab>::f::<my::app::A>"
        );
        assert_eq!(with("f_u8::<(u8, [u8; 2])>"), "f_u8::<(i8, [i8; 2])>");
    }
}
