//! 1.10: the source's `Person`, `Date` and `Data`: owned, with `Cow`, as zerovec's own types, and
//! yoked to their input.

use super::data::{SEED, strings};
use super::{decoded, encoded};
use crate::{Case, Judged, Variant, Window};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::HashMap;
use yoke::{Yoke, Yokeable};
use zerovec::{VarZeroVec, ZeroMap, ZeroVec};

/// Number of people.
const PEOPLE: usize = 1_000;

/// The case: a thousand people.
pub(super) const CASE: Case = Case {
    id: "1.10",
    system: "Cow<'a, str>, yoke, make_ule, make_varule: the article's Person, Date, Data",
    headline: "no figures: a Cow with #[serde(borrow)] and zerovec's types borrow, yoke carries the input along",
    variants: &[
        Variant::new("owned", |window| {
            let bytes = encoded(Owned::of(&people(window)));
            read(window, &bytes, decoded::<Owned>);
        }),
        Variant::new("make_ule, make_varule", |window| {
            let bytes = encoded(Data::of(&people(window)));
            read(window, &bytes, decoded::<Data<'_>>);
        }),
        Variant::new("yoke", |window| {
            let bytes = encoded(Data::of(&people(window)));
            // The input is copied once, as from a file, and lives as long as the values that borrow
            // from it.
            read(window, &bytes, |bytes| {
                Yoke::<Data<'static>, Vec<u8>>::attach_to_cart(bytes.to_vec(), |bytes| {
                    decoded(bytes)
                })
            });
        }),
        Variant::new("cow", |window| {
            let bytes = encoded(people(window));
            let read_back: Vec<Person<'_>> = decoded(&bytes);
            note_owned(window, read_back.iter().map(|person| &person.name));
            read(window, &bytes, decoded::<Vec<Person<'_>>>);
        }),
        Variant::new("cow without borrow", |window| {
            let bytes = encoded(people(window));
            let read_back: Vec<Forgotten<'_>> = decoded(&bytes);
            note_owned(window, read_back.iter().map(|person| &person.name));
            read(window, &bytes, decoded::<Vec<Forgotten<'_>>>);
        }),
    ],
    judge: |found| {
        let people = found.of("owned", "records");
        let blocks = |variant: &str| found.of(variant, "total_blocks");
        let forgotten = found.of("cow without borrow", "owned_cows");
        // Two vectors and a table, and each name twice.
        let holds = blocks("owned") == 3.0 + 2.0 * people
            && blocks("make_ule, make_varule") == 0.0
            && blocks("yoke") == 1.0
            && found.of("yoke", "live_bytes") == found.of("yoke", "input_bytes")
            && blocks("cow") == 1.0
            && found.of("cow", "owned_cows") == 0.0
            && blocks("cow without borrow") == 1.0 + people
            && forgotten == people;
        let why = format!(
            "{} blocks owned, {} as zerovec's types, {} with yoke: the input itself, {} B held for as long; without \
             #[serde(borrow)] {forgotten} of {people} Cows came out Owned, {} blocks instead of {}",
            blocks("owned"),
            blocks("make_ule, make_varule"),
            blocks("yoke"),
            found.of("yoke", "live_bytes"),
            blocks("cow without borrow"),
            blocks("cow"),
        );
        Judged::facts(holds, why)
    },
};

/// A day. `make_ule` creates its type in the input.
#[zerovec::make_ule(DateULE)]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
struct Date {
    y: u64,
    m: u8,
    d: u8,
}

/// A person. `make_varule` creates its type of variable size in the input.
#[zerovec::make_varule(PersonULE)]
#[zerovec::derive(Serialize, Deserialize)]
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Person<'a> {
    birthday: Date,
    favorite_character: char,
    #[serde(borrow)]
    name: Cow<'a, str>,
}

/// The same type without `#[serde(borrow)]`: it compiles, but every name is owned.
#[derive(Deserialize)]
struct Forgotten<'a> {
    _birthday: Date,
    _favorite_character: char,
    name: Cow<'a, str>,
}

/// All data in the input's own bytes.
#[derive(Yokeable, Serialize, Deserialize)]
#[yoke(prove_covariance_manually)]
struct Data<'a> {
    #[serde(borrow)]
    important_dates: ZeroVec<'a, Date>,
    #[serde(borrow)]
    important_people: VarZeroVec<'a, PersonULE>,
    #[serde(borrow)]
    birthdays_to_people: ZeroMap<'a, Date, PersonULE>,
}

/// All data owned.
#[derive(Serialize, Deserialize)]
struct Owned {
    important_dates: Vec<Date>,
    important_people: Vec<OwnedPerson>,
    birthdays_to_people: HashMap<Date, OwnedPerson>,
}

#[derive(Serialize, Deserialize)]
struct OwnedPerson {
    birthday: Date,
    favorite_character: char,
    name: String,
}

impl Owned {
    fn of(people: &[Person<'_>]) -> Owned {
        let owned = |person: &Person<'_>| OwnedPerson {
            birthday: person.birthday,
            favorite_character: person.favorite_character,
            name: person.name.clone().into_owned(),
        };
        Owned {
            important_dates: people.iter().map(|person| person.birthday).collect(),
            important_people: people.iter().map(owned).collect(),
            birthdays_to_people: people
                .iter()
                .map(|person| (person.birthday, owned(person)))
                .collect(),
        }
    }
}

impl Data<'static> {
    fn of(people: &[Person<'_>]) -> Self {
        let dates: Vec<Date> = people.iter().map(|person| person.birthday).collect();
        let mut birthdays_to_people = ZeroMap::new();
        for person in people {
            birthdays_to_people.insert_var_v(&person.birthday, person);
        }
        Data {
            important_dates: ZeroVec::alloc_from_slice(&dates),
            important_people: VarZeroVec::from(people),
            birthdays_to_people,
        }
    }
}

/// Returns people in the order of their birthdays, which all differ.
fn people(window: &Window) -> Vec<Person<'static>> {
    let (names, _) = strings(window.scaled(PEOPLE), SEED);
    let person = |(at, name): (usize, String)| Person {
        birthday: Date {
            y: 1900 + at as u64 / 336,
            m: (at / 28 % 12) as u8 + 1,
            d: (at % 28) as u8 + 1,
        },
        favorite_character: char::from_u32(0x4e00 + at as u32).unwrap_or('\u{3c0}'),
        name: name.into(),
    };
    names.into_iter().enumerate().map(person).collect()
}

/// Reads everything once, and keeps it.
fn read<'a, T>(window: &mut Window, bytes: &'a [u8], once: impl Fn(&'a [u8]) -> T) {
    window.input(bytes.len(), window.scaled(PEOPLE));
    window.work(|| once(bytes));
}

/// Notes the number of names that are not borrowed.
fn note_owned<'a>(window: &mut Window, names: impl Iterator<Item = &'a Cow<'a, str>>) {
    let owned = names.filter(|name| matches!(name, Cow::Owned(_))).count();
    window.note("owned_cows", owned as f64);
}
