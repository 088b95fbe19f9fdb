//! 0.20: the small-string optimization: the strings that fit into the value itself, and the benefit
//! if none do.

use super::people::{self, PEOPLE, Person, owned_blocks};
use super::{read_growths, times};
use crate::{Case, Judged, Variant, Window};
use compact_str::CompactString;
use serde::de::DeserializeOwned;

/// The case.
pub(super) const CASE: Case = Case {
    id: "0.20",
    system: "small strings (compact_str: 24 B inline, 12 B on wasm32)",
    headline: "small strings hold 20 to 24 bytes in themselves on 64-bit, 10 to 12 in Wasm; what that gains depends on the data, and \
               it can hurt in the browser",
    variants: &[
        Variant::new("String", |window| read::<String>(window, 5)),
        Variant::new("compact_str", |window| read::<CompactString>(window, 5)),
        Variant::new("String, longer", |window| read::<String>(window, 24)),
        Variant::new("compact_str, longer", |window| {
            read::<CompactString>(window, 24)
        }),
        Variant::new("&str, longer", |window| {
            let (bytes, _) = input(window, 24);
            window.work(|| people::decoded::<Vec<Person<&str>>>(&bytes));
        }),
    ],
    judge: |found| {
        let of = |variant, name| found.of(variant, name);
        let records = of("String", "records");
        let list = read_growths(size_of::<Person<CompactString>>(), records);
        let compact = |variant| of(variant, "total_blocks") == of(variant, "over 24 B") + list;
        let holds = of("String", "total_blocks") == owned_blocks(records)
            && of("String, longer", "total_blocks") == owned_blocks(records)
            && compact("compact_str")
            && compact("compact_str, longer");
        let why = format!(
            "of {:.0} names {:.0} fit into 12 B and {:.0} more into 24 B: {:.0} blocks become {:.0}, and String takes {} as \
             long; of longer ones {:.0} fit into 24 B, and it takes {}",
            records * 2.0,
            of("compact_str", "up to 12 B"),
            of("compact_str", "13 to 24 B"),
            of("String", "total_blocks"),
            of("compact_str", "total_blocks"),
            times(found.times("String", "compact_str")),
            of("compact_str, longer", "up to 12 B") + of("compact_str, longer", "13 to 24 B"),
            times(found.times("String, longer", "compact_str, longer")),
        );
        // Case 0.23 has the source's claim about the browser.
        Judged::unjudged(
            holds,
            "the source says that it depends on the data; of the browser: 0.23",
            why,
        )
    },
};

fn read<T: DeserializeOwned>(window: &mut Window, most_syllables: usize) {
    let (bytes, classes) = input(window, most_syllables);
    for (name, count) in ["up to 12 B", "13 to 24 B", "over 24 B"]
        .into_iter()
        .zip(classes)
    {
        window.note(name, f64::from(count));
    }
    window.work(|| people::decoded::<Vec<Person<T>>>(&bytes));
}

/// Returns people, and the number of their names that have up to 12, up to 24 and more bytes.
fn input(window: &mut Window, most_syllables: usize) -> (Vec<u8>, [u32; 3]) {
    let people = window.scaled(PEOPLE);
    let bytes = people::people_of(people, most_syllables);
    window.input(bytes.len(), people);
    let named: Vec<Person<&str>> = people::decoded(&bytes);
    let mut classes = [0_u32; 3];
    for name in named
        .iter()
        .flat_map(|person| [person.first_name, person.last_name])
    {
        let class = match name.len() {
            0..=12 => 0,
            13..=24 => 1,
            _ => 2,
        };
        classes[class] += 1;
    }
    drop(named);
    (bytes, classes)
}
