//! What a case is, and the list of all.

use super::Window;
use super::cases;
use super::claim::{Judged, Span};

/// One of the five sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Source {
    /// "The serde optimization gauntlet: Wasm and arenas".
    S0,
    /// "Zero-copy deserialization part 2: zerovec".
    S1,
    /// "The impact of memory allocators on performance".
    S2,
    /// "Allocating less: really thin Rust cloud apps".
    S3,
    /// "Rewriting Rust serialization part 2: performance".
    S4,
    /// Real files, fetched: no source has figures of them.
    Data,
}

impl Source {
    /// All of them.
    pub const ALL: [Source; 6] = [
        Source::S0,
        Source::S1,
        Source::S2,
        Source::S3,
        Source::S4,
        Source::Data,
    ];

    /// The word of the command line: `s0`.
    pub fn name(self) -> &'static str {
        match self {
            Source::S0 => "s0",
            Source::S1 => "s1",
            Source::S2 => "s2",
            Source::S3 => "s3",
            Source::S4 => "s4",
            Source::Data => "data",
        }
    }
}

/// One row of the sources.
#[derive(Debug)]
pub struct Case {
    /// Its number in the sources: `0.14`.
    pub id: &'static str,
    /// What system or technique it is.
    pub system: &'static str,
    /// What the source says of it, in its own figures.
    pub headline: &'static str,
    /// The ways to do the work; the first is the baseline.
    pub variants: &'static [Variant],
    /// Compares what was found with what the source says.
    pub judge: fn(&Found<'_>) -> Judged,
}

impl Case {
    /// The source it is of.
    pub fn source(&self) -> Source {
        match self.id.split('.').next() {
            Some("0") => Source::S0,
            Some("1") => Source::S1,
            Some("2") => Source::S2,
            Some("3") => Source::S3,
            Some("d") => Source::Data,
            _ => Source::S4,
        }
    }
}

/// One way to do a case's work.
#[derive(Debug)]
pub struct Variant {
    /// Its name within the case: `bumpalo`.
    pub name: &'static str,
    /// The inner allocator it needs; `None` = the one asked for.
    pub allocator: Option<&'static str>,
    /// Prepares its input and does its work inside the window.
    pub run: fn(&mut Window),
    /// Why its counts differ from run to run; `None` = they do not, and are held exactly.
    pub varies: Option<&'static str>,
}

impl Variant {
    /// Under the allocator asked for.
    pub const fn new(name: &'static str, run: fn(&mut Window)) -> Self {
        Variant {
            name,
            allocator: None,
            run,
            varies: None,
        }
    }

    /// Under this allocator, whatever is asked for.
    pub const fn under(self, allocator: &'static str) -> Self {
        Variant {
            allocator: Some(allocator),
            ..self
        }
    }

    /// Its counts differ from run to run, and why.
    pub const fn varying(self, why: &'static str) -> Self {
        Variant {
            varies: Some(why),
            ..self
        }
    }
}

/// What was found, for a case's judge: figures by variant and name, as they stand in the table.
pub struct Found<'a> {
    /// `figure(variant, name)`: `time_ns`, `total_blocks`, `total_bytes`, `peak_bytes`, ... and what the case showed.
    pub figure: &'a dyn Fn(&str, &str) -> Option<f64>,
    /// A variant's time in each round; none where it was not timed, or in fewer rounds.
    pub rounds: &'a dyn Fn(&str) -> Vec<f64>,
}

impl Found<'_> {
    /// A figure; not a number where it was not found, so that comparisons with it are false.
    pub fn of(&self, variant: &str, name: &str) -> f64 {
        (self.figure)(variant, name).unwrap_or(f64::NAN)
    }

    /// How many times as long the first took as the second: the median of the rounds' ratios, since what disturbs the
    /// machine disturbs neighbours. Without rounds, the ratio of their times.
    pub fn times(&self, first: &str, second: &str) -> Span {
        let rounds = ((self.rounds)(first), (self.rounds)(second));
        if rounds.0.is_empty() || rounds.0.len() != rounds.1.len() {
            return Span::from(self.of(first, "time_ns") / self.of(second, "time_ns"));
        }
        let rounds = rounds.0.iter().zip(&rounds.1);
        Span::median(rounds.map(|(first, second)| first / second).collect())
    }
}

/// All cases, in the order of the sources; those on fetched files last.
pub fn all() -> impl Iterator<Item = &'static Case> {
    [
        cases::s0::CASES,
        cases::s1::CASES,
        cases::s2::CASES,
        cases::s3::CASES,
        cases::s4::CASES,
        cases::real::CASES,
    ]
    .into_iter()
    .flatten()
}

/// The case of that number.
pub fn find(id: &str) -> Option<&'static Case> {
    all().find(|case| case.id == id)
}
