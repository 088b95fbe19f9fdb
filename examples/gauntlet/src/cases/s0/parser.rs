//! 0.22: a slow parser hides the allocator: the gain of mimalloc with JSON and with postcard, of
//! the same data.

use super::people::{self, PEOPLE, Person, owned_blocks};
use super::{growths, times};
use crate::data::airlines::{self, Line};
use crate::{Case, Claim, Judged, Variant, Window};
use serde_json::Value;

/// The case.
pub(super) const CASE: Case = Case {
    id: "0.22",
    system: "a slow parser hides the allocator",
    headline: "a parser of text formats reduces what the allocator's choice gains (no figure)",
    variants: &[
        Variant::new("json, Value, glibc", value).under("glibc"),
        Variant::new("json, Value, mimalloc", value).under("mimalloc"),
        Variant::new("json, typed, glibc", typed).under("glibc"),
        Variant::new("json, typed, mimalloc", typed).under("mimalloc"),
        Variant::new("json, people, glibc", json_people).under("glibc"),
        Variant::new("json, people, mimalloc", json_people).under("mimalloc"),
        Variant::new("postcard, glibc", postcard).under("glibc"),
        Variant::new("postcard, mimalloc", postcard).under("mimalloc"),
    ],
    judge: |found| {
        let of = |variant, name| found.of(variant, name);
        let gains =
            |work: &str| found.times(&format!("{work}, glibc"), &format!("{work}, mimalloc"));
        let share = |variant| match of(variant, "allocator_share") {
            share if share.is_nan() => "(not looked at)".to_owned(),
            share => format!("{:.0} %", share * 100.0),
        };
        let counts = of("json, Value, glibc", "total_blocks")
            == of("json, Value, glibc", "records") * 44.0
            && of("json, typed, glibc", "total_blocks")
                == of("json, typed, glibc", "records") * 5.0
            && of("json, people, glibc", "total_blocks") == {
                let records = of("json, people, glibc", "records");
                2.0 * records + growths(4.0, records)
            }
            && of("postcard, glibc", "total_blocks")
                == owned_blocks(of("postcard, glibc", "records"));
        let (json, postcard) = (gains("json, people"), gains("postcard"));
        let why = format!(
            "the airlines as typed JSON spend {} of their time in the allocator and take {} as long under glibc as under \
             mimalloc; as Value {} and {}; people as JSON {} and {}, the same people as postcard {} and {}",
            share("json, typed, glibc"),
            times(gains("json, typed")),
            share("json, Value, glibc"),
            times(gains("json, Value")),
            share("json, people, glibc"),
            times(json),
            share("postcard, glibc"),
            times(postcard),
        );
        Judged::facts(counts, why).claim(
            Claim::more(
                "times the gain by mimalloc with postcard as with JSON, of the same people",
            ),
            postcard.map(|gain| gain / json.value),
        )
    },
};

fn json(window: &mut Window, read: fn(&str)) {
    let lines = window.scaled(airlines::LINES);
    let text = airlines::text(lines);
    window.input(text.len(), lines);
    window.work(|| text.lines().for_each(read));
}

fn value(window: &mut Window) {
    json(window, |line| drop(serde_json::from_str::<Value>(line)));
}

fn typed(window: &mut Window) {
    json(window, |line| {
        drop(serde_json::from_str::<Line<String>>(line))
    });
}

/// Reads the people of [`postcard`] from JSON.
fn json_people(window: &mut Window) {
    let people = window.scaled(PEOPLE);
    let bytes = people::people(people);
    let read: Vec<Person<&str>> = people::decoded(&bytes);
    let text = serde_json::to_vec(&read).expect("names are JSON");
    drop(read);
    window.input(text.len(), people);
    window.work(|| drop(serde_json::from_slice::<Vec<Person<String>>>(&text)));
}

fn postcard(window: &mut Window) {
    let people = window.scaled(PEOPLE);
    let bytes = people::people(people);
    window.input(bytes.len(), people);
    window.work(|| drop(people::decoded::<Vec<Person<String>>>(&bytes)));
}
