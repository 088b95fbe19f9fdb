//! 0.12: deserializing through an arena in a thread-local that is initialized at compile time, so
//! that no lifetime spreads.

use super::people::{self, PEOPLE, Person, owned_blocks};
use super::{growths, read_growths, times};
use crate::{Case, Claim, Judged, Variant, Window};
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use std::cell::{RefCell, UnsafeCell};
use std::fmt;
use std::marker::PhantomData;

/// The case. The source's own arena is the one of [`Const`] with an `UnsafeCell`.
pub(super) const CASE: Case = Case {
    id: "0.12",
    system: "deserializing through a const thread-local arena (UnsafeCell)",
    headline: "reading into an arena in a thread-local is 2.5 times as fast as the global allocator; UnsafeCell and const leave \
               out the checks of RefCell and of lazy start-up (no figure)",
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
        Variant::new("const, RefCell", local::<ConstRef>),
        Variant::new("lazy, UnsafeCell", local::<LazyUnsafe>),
        Variant::new("lazy, RefCell", local::<LazyRef>),
    ],
    judge: |found| {
        let records = found.of("global", "records");
        let (global, local) = (
            found.of("global", "total_blocks"),
            found.of("thread-local arena", "total_blocks"),
        );
        let list = read_growths(size_of::<Person<Name>>(), records);
        let holds = global == owned_blocks(records)
            && local == list + growths(8.0, found.of("thread-local arena", "bytes in the arena"))
            && ["const, RefCell", "lazy, UnsafeCell", "lazy, RefCell"]
                .iter()
                .all(|variant| found.of(variant, "total_blocks") == local);
        let why = format!(
            "{global:.0} blocks become {local:.0}: {list:.0} of the list, the others the arena's doubling; global takes {} \
             as long. Beside the const UnsafeCell, a const RefCell takes {}, a lazy UnsafeCell {}, a lazy RefCell {} the time",
            times(found.times("global", "thread-local arena")),
            times(found.times("const, RefCell", "thread-local arena")),
            times(found.times("lazy, UnsafeCell", "thread-local arena")),
            times(found.times("lazy, RefCell", "thread-local arena")),
        );
        Judged::facts(holds, why)
            .claim(
                Claim::times("times as long by the global allocator", 2.5),
                found.times("global", "thread-local arena"),
            )
            .claim(
                Claim::more("times as long by a lazy RefCell as by a const UnsafeCell"),
                found.times("lazy, RefCell", "thread-local arena"),
            )
    },
};

fn input(window: &mut Window) -> Vec<u8> {
    let people = window.scaled(PEOPLE);
    let bytes = people::people(people);
    window.input(bytes.len(), people);
    bytes
}

/// A way to keep a thread's arena, which contains the thread's names one after another.
pub(super) trait Kept: 'static {
    /// Runs `work` on this thread's arena.
    fn with<R>(work: impl FnOnce(&mut Vec<u8>) -> R) -> R;
}

/// Declares a way to keep the arena: the type of the thread-local, and the access to it.
macro_rules! kept {
    ($(#[$doc:meta])* $name:ident: $cell:ty = $init:expr, |$arena:ident, $work:ident| $with:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub(super) struct $name;

        impl Kept for $name {
            fn with<R>($work: impl FnOnce(&mut Vec<u8>) -> R) -> R {
                thread_local! {
                    static ARENA: $cell = $init;
                }
                ARENA.with(|$arena| $with)
            }
        }
    };
}

kept! {
    /// The source's way: initialized at compile time, without a check that nothing else borrows it.
    Const: UnsafeCell<Vec<u8>> = const { UnsafeCell::new(Vec::new()) }, |arena, work| {
        // SAFETY: only this function accesses the cell, and the closures passed to it (below) copy
        // bytes or move the arena: none of them calls back.
        work(unsafe { &mut *arena.get() })
    }
}
kept! {
    /// Each access checks that there is no other borrow.
    ConstRef: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) }, |arena, work| work(&mut arena.borrow_mut())
}
kept! {
    /// Each access checks that the arena was initialized.
    LazyUnsafe: UnsafeCell<Vec<u8>> = UnsafeCell::new(made()), |arena, work| {
        // SAFETY: as for `Const`.
        work(unsafe { &mut *arena.get() })
    }
}
kept! {
    /// Each access checks both.
    LazyRef: RefCell<Vec<u8>> = RefCell::new(made()), |arena, work| work(&mut arena.borrow_mut())
}

/// Returns a value that the compiler cannot compute; otherwise it would initialize the lazy ones at
/// compile time.
fn made() -> Vec<u8> {
    std::hint::black_box(Vec::new())
}

/// Reads all people into this thread's arena, and takes the arena out.
pub(super) fn read(bytes: &[u8]) -> (Vec<Person<Name>>, Vec<u8>) {
    read_into::<Const>(bytes)
}

fn read_into<K: Kept>(bytes: &[u8]) -> (Vec<Person<Name<K>>>, Vec<u8>) {
    let people = people::decoded(bytes);
    (people, K::with(std::mem::take))
}

fn local<K: Kept>(window: &mut Window) {
    let bytes = input(window);
    window.work(|| read_into::<K>(&bytes));
}

/// A name in this thread's arena.
#[derive(Clone, Copy, Debug)]
pub(super) struct Name<K = Const> {
    #[expect(dead_code, reason = "what a program would read it by")]
    start: u32,
    #[expect(dead_code, reason = "what a program would read it by")]
    len: u32,
    kept: PhantomData<K>,
}

impl<'de, K: Kept> Deserialize<'de> for Name<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Copied<K>(PhantomData<K>);

        impl<K: Kept> Visitor<'_> for Copied<K> {
            type Value = Name<K>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Name<K>, E> {
                K::with(|arena| {
                    let start = u32::try_from(arena.len())
                        .map_err(|_| E::custom("the arena is full: 4 GiB"))?;
                    let len =
                        u32::try_from(text.len()).map_err(|_| E::custom("a name of 4 GiB"))?;
                    arena.extend_from_slice(text.as_bytes());
                    Ok(Name {
                        start,
                        len,
                        kept: PhantomData,
                    })
                })
            }
        }

        deserializer.deserialize_str(Copied(PhantomData))
    }
}
