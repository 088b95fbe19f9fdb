//! 1.14: the cost of changes when everything lies in one buffer: numbers set; strings replaced,
//! inserted and pushed.

use super::data::{SEED, hundred, strings};
use super::{blocks_are, decoded, each, encoded, repeat};
use crate::cases::said::times;
use crate::{Case, Claim, Judged, Variant, Window};
use std::hint::black_box;
use zerovec::ule::AsULE;
use zerovec::{VarZeroVec, ZeroVec};

/// The case: a hundred numbers and a hundred strings.
pub(super) const CASE: Case = Case {
    id: "1.14",
    system: "changing 100 u32 and 100 strings: ZeroVec and VarZeroVec against Vec",
    headline: "no figures: VarZeroVec is significantly slower to change than Vec<String>",
    variants: &[
        Variant::new("replace, vec", |window| {
            let (mut strings, others) = (hundred_strings(), others());
            let mut at = 0..;
            repeat(window, 0, || {
                let (place, other) = next(&mut at, &others);
                if let Some(string) = strings.get_mut(place) {
                    string.clear();
                    string.push_str(other);
                }
            });
            note(window, strings.iter().map(String::as_str));
        }),
        Variant::new("replace, varzerovec", |window| {
            let (mut strings, others) = (varzerovec(), others());
            let mut at = 0..;
            repeat(window, 0, || {
                let (place, other) = next(&mut at, &others);
                strings.make_mut().replace(place, other);
            });
            note(window, strings.iter());
        }),
        Variant::new("insert and remove, vec", |window| {
            let (mut strings, others) = (hundred_strings(), others());
            let mut at = 0..;
            repeat(window, 0, || {
                let (place, other) = next(&mut at, &others);
                strings.insert(place, other.to_owned());
                strings.remove(99 - place)
            });
            note(window, strings.iter().map(String::as_str));
        }),
        Variant::new("insert and remove, varzerovec", |window| {
            let (mut strings, others) = (varzerovec(), others());
            let mut at = 0..;
            repeat(window, 0, || {
                let (place, other) = next(&mut at, &others);
                let strings = strings.make_mut();
                strings.insert(place, other);
                strings.remove(99 - place);
            });
            note(window, strings.iter());
        }),
        Variant::new("push 100, vec", |window| {
            let strings = hundred_strings();
            repeat(window, 0, || {
                let mut pushed = Vec::new();
                strings
                    .iter()
                    .for_each(|string| pushed.push(string.clone()));
                pushed
            });
        }),
        Variant::new("push 100, varzerovec", |window| {
            let strings = hundred_strings();
            repeat(window, 0, || {
                let mut pushed = VarZeroVec::<str>::new();
                let owned = pushed.make_mut();
                strings
                    .iter()
                    .for_each(|string| owned.push(string.as_str()));
                pushed
            });
        }),
        Variant::new("first change, varzerovec", |window| {
            let bytes = encoded(VarZeroVec::<str>::from(&hundred_strings()));
            window.note("vector_bytes", varzerovec().as_bytes().len() as f64);
            repeat(window, bytes.len(), || {
                let mut strings = decoded::<VarZeroVec<'_, str>>(&bytes);
                strings.make_mut();
                strings
            });
        }),
        Variant::new("add to each, vec", |window| {
            let mut numbers = hundred();
            repeat(window, 400, || {
                let numbers = black_box(&mut numbers).iter_mut();
                numbers.for_each(|number| *number = number.wrapping_add(1));
            });
        }),
        Variant::new("add to each, zerovec", |window| {
            let mut numbers = ZeroVec::alloc_from_slice(&hundred());
            repeat(window, 400, || {
                let numbers = black_box(&mut numbers).to_mut_slice().iter_mut();
                numbers.for_each(|number| {
                    *number = u32::from_unaligned(*number).wrapping_add(1).to_unaligned();
                });
            });
        }),
    ],
    judge: |found| {
        let same = |first: &str, second: &str| {
            found.of(first, "text_bytes") == found.of(second, "text_bytes")
                && found.of(first, "text_sum") == found.of(second, "text_sum")
        };
        let first_change = each(found, "first change, varzerovec", "total_bytes");
        // One new string, or a vector that grows from 4 to 128 and a hundred strings. Numbers are
        // changed in place.
        let holds = blocks_are(
            found,
            &[
                ("insert and remove, vec", 1.0),
                ("push 100, vec", 106.0),
                ("first change, varzerovec", 1.0),
                ("add to each, vec", 0.0),
                ("add to each, zerovec", 0.0),
            ],
        ) && same("replace, vec", "replace, varzerovec")
            && same("insert and remove, vec", "insert and remove, varzerovec")
            && first_change == found.of("first change, varzerovec", "vector_bytes");
        let slower =
            |what: &str| found.times(&format!("{what}, varzerovec"), &format!("{what}, vec"));
        let why = format!(
            "the first change of what was borrowed copies all of it, {first_change} B; pushing 100 strings is {} blocks of {} \
             B against {} of {} B; inserting takes {} as long, replacing {}, pushing {}; a ZeroVec's numbers are changed in \
             place, {} as long as a Vec's",
            each(found, "push 100, varzerovec", "total_blocks"),
            each(found, "push 100, varzerovec", "total_bytes"),
            each(found, "push 100, vec", "total_blocks"),
            each(found, "push 100, vec", "total_bytes"),
            times(slower("insert and remove")),
            times(slower("replace")),
            times(slower("push 100")),
            times(found.times("add to each, zerovec", "add to each, vec")),
        );
        let claim = |judged: Judged, what: &str| {
            let of = format!("times as long to {what} in VarZeroVec as in Vec<String>");
            // The source says that it is significantly slower.
            judged
                .claim(Claim::clearly_more(of), slower(what))
                .because("one buffer that grows takes the place of a block for each string")
        };
        ["replace", "insert and remove", "push 100"]
            .into_iter()
            .fold(Judged::facts(holds, why), claim)
    },
};

/// Returns a hundred strings, with room for one more.
fn hundred_strings() -> Vec<String> {
    let (mut strings, _) = strings(100, SEED);
    strings.reserve(1);
    strings
}

fn varzerovec() -> VarZeroVec<'static, str> {
    VarZeroVec::from(&hundred_strings())
}

/// Returns the replacements, which have other lengths.
fn others() -> Vec<String> {
    let (_, seed) = strings(100, SEED);
    strings(101, seed).0
}

/// Returns a place, and a string to put there. A place gets a different string each time.
fn next<'a>(at: &mut impl Iterator<Item = usize>, others: &'a [String]) -> (usize, &'a str) {
    let at = at.next().unwrap_or_default();
    let other = others.get(at % others.len()).map_or("", String::as_str);
    (at * 37 % 100, other)
}

/// Notes the total of the strings.
fn note<'a>(window: &mut Window, strings: impl Iterator<Item = &'a str>) {
    let (mut bytes, mut sum) = (0, 0_u32);
    for (at, string) in (1_u32..).zip(strings) {
        bytes += string.len();
        let letters = string.bytes().map(u32::from).sum::<u32>();
        sum = sum.wrapping_add(at * letters);
    }
    // Only for a counted run: timed runs make as many changes as time allows.
    if window.is_counting() {
        window.note("text_bytes", bytes as f64);
        window.note("text_sum", sum.into());
    }
}
