//! The type of a case, and the list of all cases.

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
    /// Real files, which are fetched: no source has figures for them.
    Data,
}

impl Source {
    /// All sources.
    pub const ALL: [Source; 6] = [
        Source::S0,
        Source::S1,
        Source::S2,
        Source::S3,
        Source::S4,
        Source::Data,
    ];

    /// Returns the word of the command line: `s0`.
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
    /// Its number in the sources, such as `0.14`.
    pub id: &'static str,
    /// The system or technique.
    pub system: &'static str,
    /// The claim of the source, with its own figures.
    pub headline: &'static str,
    /// The ways to do the work; the first is the baseline.
    pub variants: &'static [Variant],
    /// Compares the measurements with the source's claim.
    pub judge: fn(&Found<'_>) -> Judged,
}

impl Case {
    /// Returns the source of this case.
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
    /// Its name within the case, such as `bumpalo`.
    pub name: &'static str,
    /// The inner allocator that it needs; `None` for the requested one.
    pub allocator: Option<&'static str>,
    /// Prepares the input, and does the work inside the window.
    pub run: fn(&mut Window),
    /// The reason why its counts differ from run to run; `None` if they do not: then tests compare
    /// them exactly.
    pub varies: Option<&'static str>,
}

impl Variant {
    /// Creates a variant under the requested allocator.
    pub const fn new(name: &'static str, run: fn(&mut Window)) -> Self {
        Variant {
            name,
            allocator: None,
            run,
            varies: None,
        }
    }

    /// Runs under this allocator instead of the requested one.
    pub const fn under(self, allocator: &'static str) -> Self {
        Variant {
            allocator: Some(allocator),
            ..self
        }
    }

    /// Marks that its counts differ from run to run, with the reason.
    pub const fn varying(self, why: &'static str) -> Self {
        Variant {
            varies: Some(why),
            ..self
        }
    }
}

/// The measurements for a case's judge: figures by variant and name, as in the table.
pub struct Found<'a> {
    /// `figure(variant, name)`: `time_ns`, `total_blocks`, `total_bytes`, `peak_bytes`, and the
    /// notes of the case.
    pub figure: &'a dyn Fn(&str, &str) -> Option<f64>,
    /// A variant's time in each round; empty if it was not timed, or in fewer rounds.
    pub rounds: &'a dyn Fn(&str) -> Vec<f64>,
}

impl Found<'_> {
    /// Returns a figure; NaN if there is none, so that comparisons with it are false.
    pub fn of(&self, variant: &str, name: &str) -> f64 {
        (self.figure)(variant, name).unwrap_or(f64::NAN)
    }

    /// Returns the time of the first variant divided by that of the second: the median of the
    /// rounds' ratios, because a disturbance of the machine affects neighbours alike. Without
    /// rounds, returns the ratio of their times.
    pub fn times(&self, first: &str, second: &str) -> Span {
        let rounds = ((self.rounds)(first), (self.rounds)(second));
        if rounds.0.is_empty() || rounds.0.len() != rounds.1.len() {
            return Span::from(self.of(first, "time_ns") / self.of(second, "time_ns"));
        }
        let rounds = rounds.0.iter().zip(&rounds.1);
        Span::median(rounds.map(|(first, second)| first / second).collect())
    }
}

/// Returns all cases in the order of the sources; those on fetched files last.
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

/// Returns the case with that number.
pub fn find(id: &str) -> Option<&'static Case> {
    all().find(|case| case.id == id)
}
