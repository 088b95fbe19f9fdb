//! 0.11: the moment at which strings are validated. The time moves; the allocations stay the same.

use super::people::{self, PEOPLE};
use super::times;
use crate::{Case, Claim, Judged, Variant, Window};

/// The case.
pub(super) const CASE: Case = Case {
    id: "0.11",
    system: "UTF-8: validate then store, store then truncate, deferred, an ASCII fast path; of ASCII and of mixed input",
    headline: "validation was 30 to 40 % of self time; an ASCII fast path helps, storing first helps strongly, validating only \
               what is read helps most by far",
    variants: &[
        Variant::new(FIRST, |window| store(window, ascii, first)),
        Variant::new("store, then truncate", |window| {
            store(window, ascii, truncate)
        }),
        Variant::new("deferred", |window| store(window, ascii, deferred)),
        Variant::new("deferred, 1 % validated later", |window| {
            later(window, ascii)
        }),
        Variant::new("ASCII fast path", |window| store(window, ascii, fast)),
        Variant::new("validate, then store, mixed", |window| {
            store(window, people::encoded_mixed_names, first)
        }),
        Variant::new("store, then truncate, mixed", |window| {
            store(window, people::encoded_mixed_names, truncate)
        }),
        Variant::new("deferred, mixed", |window| {
            store(window, people::encoded_mixed_names, deferred)
        }),
        Variant::new("deferred, 1 % validated later, mixed", |window| {
            later(window, people::encoded_mixed_names)
        }),
        Variant::new("ASCII fast path, mixed", |window| {
            store(window, people::encoded_mixed_names, fast)
        }),
    ],
    judge: |found| {
        let of = |variant: &str, name: &str| found.of(variant, name);
        let same = |name: &str, variants: &[&str]| {
            let first = of(variants[0], name);
            variants.iter().all(|variant| of(variant, name) == first)
        };
        let all = [FIRST, "store, then truncate", "deferred", "ASCII fast path"];
        let validating = [
            "validate, then store, mixed",
            "store, then truncate, mixed",
            "ASCII fast path, mixed",
        ];
        let later = [
            "deferred, 1 % validated later",
            "deferred, 1 % validated later, mixed",
        ];
        let names = of(FIRST, "records");
        // Invalid bytes and the text after them are cut, two bytes of every 64th name. With
        // deferred validation they stay.
        let lost = (names / 64.0).ceil() * 2.0;
        let holds = same("total_blocks", &all)
            && same("total_bytes", &all)
            && same("kept_bytes", &all)
            && all
                .iter()
                .chain(&validating)
                .all(|v| of(v, "kept_bytes") == of(v, "valid_bytes"))
            && of("deferred, mixed", "kept_bytes") == of("deferred, mixed", "valid_bytes") + lost
            && later
                .iter()
                .all(|v| of(v, "validated_later") == (names / 100.0).ceil())
            && of(later[0], "total_blocks") == of(FIRST, "total_blocks") + 1.0;
        let validation = found.times("deferred", FIRST).map(|times| 1.0 - times);
        let share = match validation.value.is_nan() {
            true => "(not timed)".to_owned(),
            false => format!("{:.0} %", validation.value * 100.0),
        };
        let why = format!(
            "time moves, allocations do not: {:.0} blocks and {:.0} bytes each way; validation is {share} of the time (the \
             source: 30-40 %); store then truncate takes {}, the ASCII path {}, validating 1 % of the names later {} the time \
             of validate then store. With letters that are not ASCII in an eighth of the names, and invalid bytes in every \
             64th, whose valid beginnings are kept: {}, {} and {}",
            of(FIRST, "total_blocks"),
            of(FIRST, "total_bytes"),
            times(found.times("store, then truncate", FIRST)),
            times(found.times("ASCII fast path", FIRST)),
            times(found.times(later[0], FIRST)),
            times(found.times("store, then truncate, mixed", validating[0])),
            times(found.times("ASCII fast path, mixed", validating[0])),
            times(found.times(later[1], validating[0])),
        );
        Judged::facts(holds, why)
            .claim(
                Claim::count("share of the time that goes into validation", 0.0)
                    .between(0.3, 0.4)
                    .within(0.1),
                validation,
            )
            .because("there is little else to do here than to validate and to store")
            .claim(
                Claim::clearly_more("times as long by validating first as by storing first"),
                found.times(FIRST, "store, then truncate"),
            )
            .because(LENGTHS)
            .claim(
                Claim::clearly_more("the same of mixed input"),
                found.times(validating[0], "store, then truncate, mixed"),
            )
            .because(LENGTHS)
            .claim(
                Claim::clearly_more("times as long without an ASCII fast path as with one"),
                found.times(FIRST, "ASCII fast path"),
            )
            .claim(
                Claim::clearly_more("times as long with an ASCII fast path as when deferred"),
                found.times("ASCII fast path", "deferred"),
            )
            .claim(
                Claim::clearly_more(
                    "times as long by validating at once as when deferred, 1 % validated later",
                ),
                found.times(FIRST, later[0]),
            )
            .claim(
                Claim::clearly_more("the same of mixed input"),
                found.times(validating[0], later[1]),
            )
    },
};

const FIRST: &str = "validate, then store";

/// The reason why storing first is slower here. Measured with texts of one length, of 2 to 20 and
/// of 8 to 64 bytes, in turns: validating first takes 0.99, 0.75 and 0.95 times as long.
const LENGTHS: &str = "the lengths of these texts cannot be predicted; with texts of one length, both \
                       ways take the same time";

/// Returns names that are all ASCII, and the number of their valid bytes.
fn ascii(count: usize) -> (Vec<u8>, usize) {
    let bytes = people::encoded_names(count);
    let valid = people::read_texts(&bytes).1.map(<[u8]>::len).sum();
    (bytes, valid)
}

/// Returns the position of the first byte that is not UTF-8.
fn valid_up_to(text: &[u8]) -> usize {
    match std::str::from_utf8(text) {
        Ok(_) => text.len(),
        Err(error) => error.valid_up_to(),
    }
}

fn first(flat: &mut Vec<u8>, text: &[u8]) {
    flat.extend_from_slice(&text[..valid_up_to(text)]);
}

/// Stores the text, then cuts it. The search does not depend on the store, because it reads the
/// input.
fn truncate(flat: &mut Vec<u8>, text: &[u8]) {
    flat.extend_from_slice(text);
    let valid = valid_up_to(text);
    if valid != text.len() {
        flat.truncate(flat.len() - (text.len() - valid));
    }
}

/// Stores without validating; a later read validates.
fn deferred(flat: &mut Vec<u8>, text: &[u8]) {
    flat.extend_from_slice(text);
}

fn fast(flat: &mut Vec<u8>, text: &[u8]) {
    let valid = match text.is_ascii() {
        true => text.len(),
        false => valid_up_to(text),
    };
    flat.extend_from_slice(&text[..valid]);
}

type Input = fn(usize) -> (Vec<u8>, usize);

fn input(window: &mut Window, input: Input) -> Vec<u8> {
    let count = window.scaled(2 * PEOPLE);
    let (bytes, valid) = input(count);
    window.input(bytes.len(), count);
    window.note("valid_bytes", valid as f64);
    bytes
}

/// Stores all names in one flat buffer.
fn store(window: &mut Window, names: Input, add: impl Fn(&mut Vec<u8>, &[u8])) {
    let bytes = input(window, names);
    let mut kept = 0;
    window.work(|| {
        let mut flat = Vec::new();
        let (_, texts) = people::read_texts(&bytes);
        texts.for_each(|text| add(&mut flat, text));
        kept = flat.len();
        flat
    });
    window.note("kept_bytes", kept as f64);
}

/// One stored name in this many is read.
const READ_ONE_OF: usize = 100;

/// Stores all names without validating them, and validates those that are read.
fn later(window: &mut Window, names: Input) {
    let bytes = input(window, names);
    let mut validated = 0;
    window.work(|| {
        let mut flat = Vec::new();
        let (count, texts) = people::read_texts(&bytes);
        let mut read = Vec::with_capacity(count.div_ceil(READ_ONE_OF));
        for (at, text) in texts.enumerate() {
            let start = flat.len();
            deferred(&mut flat, text);
            if at % READ_ONE_OF == 0 {
                read.push(start..flat.len());
            }
        }
        validated = 0;
        for place in &read {
            let text = &flat[place.clone()];
            std::hint::black_box(&text[..valid_up_to(text)]);
            validated += 1;
        }
        (flat, read)
    });
    window.note("validated_later", f64::from(validated));
}
