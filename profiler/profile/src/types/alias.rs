//! Stacks read under another name of a function on them.
//!
//! The compiler makes one function of equal ones, and the symbol table may keep the names of all.
//! If the functions are instances of one generic function (`make::<Metre>`, `make::<Second>`), the
//! differences between their names are applied to the functions inlined there too. Of any other
//! function only the name is known, and the functions inlined into it are left out.

use super::frame::StackFrame;
use crate::name::split_at_commas;
use crate::profile::{Function, FunctionId};
use std::collections::HashMap;
use std::rc::Rc;

/// Functions under other names. Their numbers fall from the highest one, so that they differ from
/// those of the profile.
#[derive(Default)]
pub(super) struct Renamed {
    functions: HashMap<(FunctionId, FunctionId, usize), (FunctionId, Rc<Function>)>,
}

impl Renamed {
    /// Renames the last of some frames, which is not inlined, to one of its aliases, together with
    /// the frames before it, which are inlined into it. Returns only the last one if its alias does
    /// not tell what would be inlined there.
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
            let renamed = self
                .functions
                .entry((own.id, frame.id, alias))
                .or_insert_with(|| {
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

/// The differences between the names of two instances of one generic function: arguments of the
/// one, each with the argument of the other. `None` for other functions.
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
    let end = from
        + one.as_bytes()[from..]
            .iter()
            .position(|&byte| ends_argument(byte))?;
    // The differences are whole arguments: `Vec<A>` and `Option<B>`, not `Vec<A` and `Option<B`.
    // The texts after them are equal, so both grow by the same letters until no bracket is open.
    let longer = other.len() as isize - one.len() as isize;
    let end_in_other = |end: usize| end.checked_add_signed(longer);
    let mut open = depth(one.get(start..end)?);
    if open != depth(other.get(start..end_in_other(end)?)?) {
        return None;
    }
    let mut end = end;
    while open != 0 {
        if end == one.len() {
            return None;
        }
        open += step(one.as_bytes(), end);
        end += 1;
    }
    let a = split_at_commas(one.get(start..end)?);
    let b = split_at_commas(other.get(start..end_in_other(end)?)?);
    // Outside all brackets, the paths of the functions differ.
    let inside = depth(one.get(..start)?) > 0;
    (inside && a.len() == b.len()).then(|| a.into_iter().zip(b).filter(|(a, b)| a != b).collect())
}

/// The number of brackets that a byte opens: -1 if it closes one.
fn step(bytes: &[u8], at: usize) -> i32 {
    match bytes[at] {
        b'<' | b'(' | b'[' | b'{' => 1,
        // `->` closes nothing.
        b'>' if at > 0 && bytes[at - 1] == b'-' => 0,
        b'>' | b')' | b']' | b'}' => -1,
        _ => 0,
    }
}

fn depth(text: &str) -> i32 {
    (0..text.len()).map(|at| step(text.as_bytes(), at)).sum()
}

/// Replaces whole paths in a name: the first of each pair by the second.
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
