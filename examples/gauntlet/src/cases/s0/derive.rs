//! 0.14: `#[derive(ArenaDeserialize)]`: one seed passes the arena through each level. Parsing and
//! release are separate phases, and a `String` put into an arena leaks.

use super::people::{self, PEOPLE, owned_blocks};
use super::{local, times};
use crate::cases::said::ms;
use crate::{Case, Claim, Found, Judged, Variant, Window};
use bumpalo::Bump;
use serde::de::{DeserializeSeed, Deserializer, Error, SeqAccess, Visitor};
use std::fmt;
use std::time::Instant;
use tracking_alloc::arena::{Arena, ArenaDeserialize, ArenaSeed, Tracked};
use tracking_alloc::phase;

/// The case.
pub(super) const CASE: Case = Case {
    id: "0.14",
    system: "ArenaDeserialize: a derive over one seed; parsing against release; a String in an arena leaks",
    headline: "a derive that weaves bumpalo through is 15 % faster than the thread-local arena, itself 2.5 times as fast as the \
               global allocator; arenas drop efficiently (no figure)",
    variants: &[
        Variant::new("global", |window| {
            each(window, |bytes| {
                parse(|| people::decoded::<Vec<people::Person<String>>>(bytes))
            })
        }),
        Variant::new("global, released", |window| {
            each(window, |bytes| {
                release(parse(|| {
                    people::decoded::<Vec<people::Person<String>>>(bytes)
                }));
            })
        }),
        Variant::new("thread-local arena", |window| {
            each(window, |bytes| parse(|| local::read(bytes)))
        }),
        Variant::new("by hand, bumpalo", |window| {
            each(window, |bytes| parse(|| by_hand(bytes)))
        }),
        Variant::new("derive, bumpalo", |window| {
            each(window, |bytes| parse(|| bumpalo(bytes)))
        }),
        Variant::new("derive, bumpalo, released", |window| {
            note_releases(window);
            each(window, |bytes| release(parse(|| bumpalo(bytes))))
        }),
        Variant::new("derive, bump-scope", |window| {
            each(window, |bytes| parse(|| bump_scope(bytes)))
        }),
        Variant::new(LOCAL_KEPT, |window| {
            keep_pages();
            each(window, |bytes| parse(|| local::read(bytes)));
        })
        .under("glibc"),
        Variant::new(HAND_KEPT, |window| {
            keep_pages();
            each(window, |bytes| parse(|| by_hand(bytes)));
        })
        .under("glibc"),
        Variant::new(DERIVE_KEPT, |window| {
            keep_pages();
            each(window, |bytes| parse(|| bumpalo(bytes)));
        })
        .under("glibc"),
        Variant::new("a String smuggled in, released", |window| {
            each(window, |bytes| {
                let bump = Bump::new();
                let people = Tracked::new("people", &bump);
                parse(|| in_arena::<&[Smuggler<'_>], _>(bytes, &people).len());
                release(people);
                release(bump);
            })
        }),
    ],
    judge,
};

const LOCAL_KEPT: &str = "thread-local arena, pages kept";
const HAND_KEPT: &str = "by hand, bumpalo, pages kept";
const DERIVE_KEPT: &str = "derive, bumpalo, pages kept";

/// Makes glibc keep all free memory, so that only the first run asks the kernel for pages. The
/// source reads the same data many times with memory that it has.
fn keep_pages() {
    /// More than all people take.
    const ALL: libc::c_int = 1 << 30;
    // SAFETY: both settings only change when glibc asks for pages and gives them back.
    let set =
        unsafe { libc::mallopt(libc::M_MMAP_MAX, 0) + libc::mallopt(libc::M_TRIM_THRESHOLD, ALL) };
    assert_eq!(set, 2, "glibc accepts both settings");
}

fn judge(found: &Found<'_>) -> Judged {
    let records = found.of("global", "records");
    let blocks = |variant| found.of(variant, "total_blocks");
    let leaked = found.of("a String smuggled in, released", "live_blocks");
    let holds = blocks("global") == owned_blocks(records)
        && ["by hand, bumpalo", "derive, bumpalo", "derive, bump-scope"]
            .map(blocks)
            .iter()
            .all(|chunks| *chunks < 32.0)
        && blocks(LOCAL_KEPT) == blocks("thread-local arena")
        && blocks(HAND_KEPT) == blocks("by hand, bumpalo")
        && blocks(DERIVE_KEPT) == blocks("derive, bumpalo")
        && leaked == records
        && found.of("derive, bumpalo, released", "live_blocks") == 0.0;
    let release = |name| found.of("derive, bumpalo, released", name);
    let why = format!(
        "{:.0} blocks become {:.0}; parsing, global takes {} as long as the derive, {} as long as the seed by hand, the \
         thread-local arena {}; where glibc keeps the pages, the thread-local arena takes {} as long as the derive, {} as \
         long as the seed by hand; releasing takes {} and {}; a String smuggled in leaks {leaked:.0} blocks, one a record",
        blocks("global"),
        blocks("derive, bumpalo"),
        times(found.times("global", "derive, bumpalo")),
        times(found.times("global", "by hand, bumpalo")),
        times(found.times("thread-local arena", "derive, bumpalo")),
        times(found.times(LOCAL_KEPT, DERIVE_KEPT)),
        times(found.times(LOCAL_KEPT, HAND_KEPT)),
        ms(release("global_release_ns")),
        ms(release("release_ns")),
    );
    Judged::facts(holds, why)
        .claim(
            Claim::times(
                "times as long by the thread-local arena as by a seed that passes bumpalo on, pages kept",
                1.15,
            )
            .within(0.1),
            found.times(LOCAL_KEPT, HAND_KEPT),
        )
        .claim(
            Claim::times("the same by our derive", 1.15).within(0.1),
            found.times(LOCAL_KEPT, DERIVE_KEPT),
        )
        .because("the derive itself takes longer than the seed by hand")
        .claim(
            Claim::times(
                "times as long by the global allocator as by the derive, 15 % beyond 2.5 times",
                2.5 * 1.15,
            ),
            found.times("global", "derive, bumpalo"),
        )
        .claim(
            Claim::more("times as long to release by the global allocator as by bumpalo"),
            release("global_release_ns") / release("release_ns"),
        )
}

fn each<T>(window: &mut Window, work: fn(&[u8]) -> T) {
    let people = window.scaled(PEOPLE);
    let bytes = people::people(people);
    window.input(bytes.len(), people);
    window.work(|| work(&bytes));
}

/// Number of runs that time the release.
const RELEASES: usize = 11;

/// Notes how long both ways take to release: the medians of runs that alternate in this process.
fn note_releases(window: &mut Window) {
    if !window.is_timing() {
        return;
    }
    let bytes = people::people(window.scaled(PEOPLE));
    let (mut global, mut arena) = (Vec::new(), Vec::new());
    for _ in 0..RELEASES {
        global.push(release_ns(people::decoded::<Vec<people::Person<String>>>(
            &bytes,
        )));
        arena.push(release_ns(bumpalo(&bytes)));
    }
    for (name, mut times) in [("global_release_ns", global), ("release_ns", arena)] {
        times.sort_unstable();
        window.note(name, times[RELEASES / 2] as f64);
    }
}

fn release_ns<T>(value: T) -> u64 {
    let start = Instant::now();
    drop(value);
    start.elapsed().as_nanos() as u64
}

fn parse<T>(read: impl FnOnce() -> T) -> T {
    let _phase = phase("parse");
    read()
}

fn release<T>(value: T) {
    let _phase = phase("release");
    drop(value);
}

/// A person in an arena of any crate.
#[derive(ArenaDeserialize)]
pub(super) struct Person<'bump> {
    pub(super) first_name: &'bump str,
    pub(super) last_name: &'bump str,
}

/// A person with a name that no arena drops.
#[derive(ArenaDeserialize)]
#[expect(dead_code, reason = "only read into")]
struct Smuggler<'bump> {
    #[arena(global)]
    first_name: String,
    last_name: &'bump str,
}

/// Reads a value into an arena.
pub(super) fn in_arena<'de, 'a, T, A>(bytes: &'de [u8], arena: &'a A) -> T
where
    A: Arena,
    T: ArenaDeserialize<'de, 'a, A>,
{
    ArenaSeed::<T>::new(arena)
        .deserialize(&mut postcard::Deserializer::from_bytes(bytes))
        .expect("it was written by this program")
}

pub(super) fn bumpalo(bytes: &[u8]) -> Bump {
    let bump = Bump::new();
    std::hint::black_box(in_arena::<&[Person<'_>], _>(bytes, &bump));
    bump
}

fn bump_scope(bytes: &[u8]) -> bump_scope::Bump {
    let bump = bump_scope::Bump::new();
    std::hint::black_box(in_arena::<&[Person<'_>], _>(bytes, &bump));
    bump
}

/// Does the same without the derive.
fn by_hand(bytes: &[u8]) -> Bump {
    let bump = Bump::new();
    let mut postcard = postcard::Deserializer::from_bytes(bytes);
    let people = People(&bump)
        .deserialize(&mut postcard)
        .expect("it was written by this program");
    std::hint::black_box(people.len());
    bump
}

struct People<'a>(&'a Bump);

impl<'de, 'a> DeserializeSeed<'de> for People<'a> {
    type Value = &'a [Person<'a>];

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, 'a> Visitor<'de> for People<'a> {
    type Value = &'a [Person<'a>];

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("people")
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut seq: S) -> Result<Self::Value, S::Error> {
        let room = seq
            .size_hint()
            .unwrap_or(0)
            .min((1 << 20) / size_of::<Person<'_>>());
        let mut people = bumpalo::collections::Vec::with_capacity_in(room, self.0);
        while let Some(person) = seq.next_element_seed(One(self.0))? {
            people.push(person);
        }
        Ok(people.into_bump_slice())
    }
}

struct One<'a>(&'a Bump);

impl<'de, 'a> DeserializeSeed<'de> for One<'a> {
    type Value = Person<'a>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_struct("Person", &["first_name", "last_name"], self)
    }
}

impl<'de, 'a> Visitor<'de> for One<'a> {
    type Value = Person<'a>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a person")
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut seq: S) -> Result<Self::Value, S::Error> {
        let mut name = |at| {
            seq.next_element_seed(Text(self.0))?
                .ok_or_else(|| S::Error::invalid_length(at, &"2 names"))
        };
        Ok(Person {
            first_name: name(0)?,
            last_name: name(1)?,
        })
    }
}

struct Text<'a>(&'a Bump);

impl<'de, 'a> DeserializeSeed<'de> for Text<'a> {
    type Value = &'a str;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'a> Visitor<'_> for Text<'a> {
    type Value = &'a str;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(self.0.alloc_str(text))
    }
}
