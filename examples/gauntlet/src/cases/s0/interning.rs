//! 0.19: string interning: expensive if all strings differ, useful if few do.

use super::people;
use super::{read_growths, times};
use crate::data::airlines;
use crate::{Case, Claim, Judged, Variant, Window};
use ahash::AHasher;
use lasso::{Rodeo, Spur};
use serde_json::Value;
use std::hash::{BuildHasher, BuildHasherDefault, RandomState};

/// Number of different strings in a full run.
const UNIQUE: usize = 1_000_000;

/// The same with a quicker hash than std's SipHash.
const QUICK: &str = "lasso with ahash, all different";

/// The case.
pub(super) const CASE: Case = Case {
    id: "0.19",
    system: "string interning (lasso): all different, and the airlines' strings",
    headline: "interning takes about twice as long when all strings are different",
    variants: &[
        Variant::new("String, all different", |window| strings(window, different)),
        Variant::new("lasso, all different", |window| interned(window, different)),
        Variant::new(QUICK, |window| {
            interned_by::<BuildHasherDefault<AHasher>>(window, different);
        }),
        Variant::new("String, airlines", |window| strings(window, of_airlines)),
        Variant::new("lasso, airlines", |window| interned(window, of_airlines)),
    ],
    judge: |found| {
        let of = |variant, name| found.of(variant, name);
        let owned = |variant| {
            let records = of(variant, "records");
            of(variant, "total_blocks") == records + read_growths(size_of::<&str>(), records) + 1.0
        };
        let holds = owned("String, all different")
            && owned("String, airlines")
            && of("lasso, all different", "different") == of("lasso, all different", "records")
            && of(QUICK, "different") == of("lasso, all different", "records")
            && of("lasso, airlines", "different") < of("lasso, airlines", "records") / 2.0;
        let why = format!(
            "interning different strings takes {} as long as owning them, with ahash in place of std's SipHash {}; of the airlines' {:.0} strings {:.0} are \
             different: {:.0} retained bytes become {:.0}, in {} the time",
            times(found.times("lasso, all different", "String, all different")),
            times(found.times(QUICK, "String, all different")),
            of("lasso, airlines", "records"),
            of("lasso, airlines", "different"),
            of("String, airlines", "live_bytes"),
            of("lasso, airlines", "live_bytes"),
            times(found.times("lasso, airlines", "String, airlines")),
        );
        Judged::facts(holds, why)
            .claim(
                Claim::times("times as long to intern as to own, all different", 2.0).within(0.3),
                found.times("lasso, all different", "String, all different"),
            )
            .because(HASHING)
    },
};

/// The reason why interning takes longer here than in the source.
const HASHING: &str = "nothing else is done here than to read and to keep strings: the faster the rest, the more \
                       hashing and the misses of the table weigh";

fn different(window: &Window) -> Vec<String> {
    (0..window.scaled(UNIQUE))
        .map(|number| format!("name{number}"))
        .collect()
}

/// Returns the five strings of each line.
fn of_airlines(window: &Window) -> Vec<String> {
    fn collect(value: Value, into: &mut Vec<String>) {
        match value {
            Value::String(text) => into.push(text),
            Value::Object(fields) => fields
                .into_iter()
                .for_each(|(_, value)| collect(value, into)),
            _ => {}
        }
    }
    let mut strings = Vec::new();
    for line in airlines::text(window.scaled(airlines::LINES)).lines() {
        collect(
            serde_json::from_str(line).expect("it was written by this program"),
            &mut strings,
        );
    }
    strings
}

fn input(window: &mut Window, make: fn(&Window) -> Vec<String>) -> Vec<u8> {
    let strings = make(window);
    let bytes = people::encoded(&strings);
    window.input(bytes.len(), strings.len());
    bytes
}

fn strings(window: &mut Window, make: fn(&Window) -> Vec<String>) {
    let bytes = input(window, make);
    window.work(|| {
        let read: Vec<&str> = people::decoded(&bytes);
        read.into_iter()
            .map(str::to_owned)
            .collect::<Box<[String]>>()
    });
}

fn interned(window: &mut Window, make: fn(&Window) -> Vec<String>) {
    interned_by::<RandomState>(window, make);
}

fn interned_by<S: BuildHasher + Clone + Default>(
    window: &mut Window,
    make: fn(&Window) -> Vec<String>,
) {
    let bytes = input(window, make);
    let mut different = 0;
    window.work(|| {
        let read: Vec<&str> = people::decoded(&bytes);
        let mut rodeo: Rodeo<Spur, S> = Rodeo::with_hasher(S::default());
        let keys: Box<[Spur]> = read
            .into_iter()
            .map(|text| rodeo.get_or_intern(text))
            .collect();
        different = rodeo.len();
        (rodeo, keys)
    });
    window.note("different", different as f64);
}
