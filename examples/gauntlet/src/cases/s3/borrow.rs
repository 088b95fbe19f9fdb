//! 3.11: the requirement of a function on its caller: to own values, to borrow a slice, or to
//! borrow one value after another.

use crate::cases::said::times;
use crate::{Case, Judged, Variant, Window};
use std::borrow::Cow;

/// The case.
pub(super) const CASE: Case = Case {
    id: "3.11",
    system: "borrow, don't move: Vec<String> / &[&str] / iterator argument; clone hunting; escaping with Cow",
    headline: "no figures: the signature decides how many blocks a caller makes",
    variants: &[
        Variant::new("Vec<String>", |window| {
            each(window, |names| owned(names.to_vec()))
        }),
        Variant::new("&[&str]", |window| {
            each(window, |names| {
                slice(&names.iter().map(String::as_str).collect::<Vec<_>>())
            });
        }),
        Variant::new("iterator", |window| {
            each(window, |names| one_by_one(names.iter().map(String::as_str)))
        }),
        Variant::new("escaped, String", |window| {
            escaped(window, |name| Cow::Owned(escape(name).into_owned()))
        }),
        Variant::new("escaped, Cow", |window| escaped(window, escape)),
    ],
    judge: |found| {
        let names = found.of("Vec<String>", "records");
        let blocks = |variant: &str| found.of(variant, "total_blocks");
        let holds = blocks("Vec<String>") == names + 1.0
            && blocks("&[&str]") == 1.0
            && blocks("iterator") == 0.0
            && blocks("escaped, String") == names + 1.0
            && blocks("escaped, Cow") == found.of("escaped, Cow", "escaped") + 1.0;
        let why = format!(
            "for {names:.0} names: {:.0} blocks to hand over a Vec<String>, {:.0} a &[&str], {:.0} an iterator; escaping \
             makes {:.0} strings, with Cow the {:.0} that have something to escape, in 1 block of results each; the \
             iterator is {} as fast as the clones",
            blocks("Vec<String>"),
            blocks("&[&str]"),
            blocks("iterator"),
            blocks("escaped, String") - 1.0,
            blocks("escaped, Cow") - 1.0,
            times(found.times("Vec<String>", "iterator")),
        );
        Judged::facts(holds, why)
    },
};

const NAMES: usize = 10_000;

/// Returns names, of which every tenth contains a character to escape.
fn names(window: &mut Window) -> Vec<String> {
    let name = |at: usize| {
        if at.is_multiple_of(10) {
            format!("Tom & Jerry {at}")
        } else {
            format!("Nemo {at}")
        }
    };
    let names: Vec<String> = (0..window.scaled(NAMES)).map(name).collect();
    window.input(names.iter().map(String::len).sum(), names.len());
    names
}

#[expect(clippy::needless_pass_by_value, reason = "what this costs is the case")]
fn owned(names: Vec<String>) -> usize {
    one_by_one(names.iter().map(String::as_str))
}

fn slice(names: &[&str]) -> usize {
    one_by_one(names.iter().copied())
}

fn one_by_one<'a>(names: impl Iterator<Item = &'a str>) -> usize {
    names
        .map(|name| name.bytes().filter(|byte| *byte == b'e').count())
        .sum()
}

fn each(window: &mut Window, call: impl Fn(&[String]) -> usize) {
    let names = names(window);
    window.work(|| call(&names));
}

/// Escapes a name for HTML. Borrows it if there is nothing to escape.
fn escape(name: &str) -> Cow<'_, str> {
    let escaped = |byte: u8| if byte == b'&' { "&amp;".len() } else { 1 };
    let length: usize = name.bytes().map(escaped).sum();
    if length == name.len() {
        return Cow::Borrowed(name);
    }
    let mut out = String::with_capacity(length);
    for part in name.split_inclusive('&') {
        match part.strip_suffix('&') {
            Some(plain) => out.extend([plain, "&amp;"]),
            None => out.push_str(part),
        }
    }
    Cow::Owned(out)
}

fn escaped(window: &mut Window, escape: impl Fn(&str) -> Cow<'_, str>) {
    let names = names(window);
    let mut count = 0;
    window.work(|| {
        let mut all = Vec::with_capacity(names.len());
        names.iter().for_each(|name| all.push(escape(name)));
        count = all
            .iter()
            .filter(|name| matches!(name, Cow::Owned(_)))
            .count();
        all.len()
    });
    window.note("escaped", count as f64);
}
