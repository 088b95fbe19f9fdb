//! 0.12: deserializing through an arena that a thread-local of constant start-up holds, so that no lifetime spreads.

use super::people::{self, PEOPLE, Person, owned_blocks};
use super::{growths, read_growths, times};
use crate::{Case, Claim, Judged, Variant, Window};
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use std::cell::UnsafeCell;
use std::fmt;

/// The case.
pub(super) const CASE: Case = Case {
    id: "0.12",
    system: "deserializing through a const thread-local arena (UnsafeCell)",
    headline: "2.5x as fast as the global allocator",
    variants: &[
        Variant::new("global", |window| {
            let bytes = input(window);
            window.work(|| people::decoded::<Vec<Person<String>>>(&bytes));
        }),
        Variant::new("thread-local arena", |window| {
            let bytes = input(window);
            let mut held = 0;
            window.work(|| {
                let people = read(&bytes);
                held = people.1.len();
                people
            });
            window.note("bytes in the arena", held as f64);
        }),
    ],
    judge: |found| {
        let records = found.of("global", "records");
        let (global, local) = (
            found.of("global", "total_blocks"),
            found.of("thread-local arena", "total_blocks"),
        );
        let list = read_growths(size_of::<Person<Name>>(), records);
        let holds = global == owned_blocks(records)
            && local == list + growths(8.0, found.of("thread-local arena", "bytes in the arena"));
        let why = format!(
            "{global:.0} blocks become {local:.0}: {list:.0} of the list, the others the arena's doubling; global takes {} \
             as long",
            times(found.times("global", "thread-local arena")),
        );
        Judged::facts(holds, why).claim(
            Claim::times("times as long by the global allocator", 2.5),
            found.times("global", "thread-local arena"),
        )
    },
};

fn input(window: &mut Window) -> Vec<u8> {
    let people = window.scaled(PEOPLE);
    let bytes = people::people(people);
    window.input(bytes.len(), people);
    bytes
}

thread_local! {
    /// Every name of this thread, one after another.
    static ARENA: UnsafeCell<Vec<u8>> = const { UnsafeCell::new(Vec::new()) };
}

/// Runs `work` on this thread's arena.
fn with_arena<R>(work: impl FnOnce(&mut Vec<u8>) -> R) -> R {
    // SAFETY: only this function reaches the cell, and what it is called with (below) copies bytes or moves the arena:
    // nothing in there comes back here.
    ARENA.with(|arena| work(unsafe { &mut *arena.get() }))
}

/// Reads all people into this thread's arena and takes it along.
pub(super) fn read(bytes: &[u8]) -> (Vec<Person<Name>>, Vec<u8>) {
    let people = people::decoded(bytes);
    (people, with_arena(std::mem::take))
}

/// A name in this thread's arena.
#[derive(Clone, Copy, Debug)]
pub(super) struct Name {
    #[expect(dead_code, reason = "what a program would read it by")]
    start: u32,
    #[expect(dead_code, reason = "what a program would read it by")]
    len: u32,
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Copied;

        impl Visitor<'_> for Copied {
            type Value = Name;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Name, E> {
                with_arena(|arena| {
                    let start = u32::try_from(arena.len())
                        .map_err(|_| E::custom("the arena is full: 4 GiB"))?;
                    let len =
                        u32::try_from(text.len()).map_err(|_| E::custom("a name of 4 GiB"))?;
                    arena.extend_from_slice(text.as_bytes());
                    Ok(Name { start, len })
                })
            }
        }

        deserializer.deserialize_str(Copied)
    }
}
