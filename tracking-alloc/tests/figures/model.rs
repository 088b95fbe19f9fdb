//! A simple model of the figures of a program with one thread.

use crate::read::Counts;
use std::collections::BTreeMap;

/// An operation of a program. Blocks are kept at places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Alloc(usize, usize),
    Resize(usize, usize),
    Free(usize),
    /// Enters another phase instead of the current one.
    Phase(usize),
}

pub(crate) const PLACES: usize = 64;
pub(crate) const PHASES: [&str; 5] = ["a", "b", "c", "d", "e"];

/// Generates the steps of a random program. They are the same for the same seed. This allocates
/// nothing.
pub(crate) fn steps(seed: u64, steps: usize, mut each: impl FnMut(Op)) {
    let mut state = seed | 1;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 20) as usize % below
    };
    let mut used = [false; PLACES];
    for step in 0..steps {
        // Bytes rise and fall in waves, so that there are several maxima.
        let falls = step % 300 > 180;
        let place = random(PLACES);
        let bytes = match random(40) {
            0 => 32 << 10,
            1 => 33_000 + random(20_000),
            2..6 => random(8_000) + 1,
            6..20 => random(32) + 1,
            _ => random(300) + 1,
        };
        let op = match (used[place], random(8)) {
            (_, 0) if step % 3 == 0 => Op::Phase(random(PHASES.len())),
            (false, _) => Op::Alloc(place, bytes),
            (true, 1 | 2) => Op::Resize(place, bytes),
            (true, 3..=7) if falls => Op::Free(place),
            (true, 3) => Op::Free(place),
            _ => continue,
        };
        used[place] = match op {
            Op::Alloc(..) => true,
            Op::Free(_) => false,
            _ => used[place],
        };
        each(op);
    }
}

#[derive(Clone, Copy)]
struct Live {
    bytes: usize,
    phase: usize,
    /// `None` if the block is or was too small to keep it.
    birth: Option<u64>,
}

/// Blocks of up to this many bytes do not keep their birth number.
const SMALL: usize = 16;

/// The expected rows.
pub(crate) struct Model {
    phases: [Counts; PHASES.len()],
    live: [Option<Live>; PLACES],
    phase: usize,
    births: u64,
    last: Option<usize>,
    peak: i64,
    moves: bool,
}

impl Model {
    /// Returns the model after the steps of a seed.
    pub(crate) fn after(seed: u64, count: usize, moves: bool) -> Model {
        let mut model = Model {
            phases: [Counts::default(); PHASES.len()],
            live: [None; PLACES],
            phase: 0,
            births: 0,
            last: None,
            peak: 0,
            moves,
        };
        steps(seed, count, |op| model.step(op));
        model
    }

    pub(crate) fn by_phase(&self) -> BTreeMap<String, Counts> {
        let phases = PHASES.iter().map(|name| (*name).to_owned());
        let used = phases.zip(self.phases);
        used.filter(|(_, counts)| *counts != Counts::default())
            .collect()
    }

    fn step(&mut self, op: Op) {
        match op {
            Op::Phase(phase) => self.phase = phase,
            Op::Alloc(place, bytes) => {
                self.born(place, bytes, None);
                self.last = Some(place);
            }
            Op::Resize(place, bytes) => {
                let old = self.live[place].take().expect("a block");
                self.gone(&old);
                let here = &mut self.phases[self.phase];
                if bytes >= old.bytes {
                    here.grows += 1;
                } else {
                    here.shrinks += 1;
                }
                if self.moves {
                    here.copied_bytes += old.bytes.min(bytes) as u64;
                }
                self.born(place, bytes, Some(old.birth));
                self.last = None;
            }
            Op::Free(place) => {
                let old = self.live[place].take().expect("a block");
                self.gone(&old);
                let its = &mut self.phases[old.phase];
                if self.last == Some(place) {
                    its.temporary.0 += old.bytes as u64;
                    its.temporary.1 += 1;
                    self.last = None;
                }
                if let Some(birth) = old.birth {
                    its.lifetime += self.births - birth;
                    its.lifetime_blocks += 1;
                }
            }
        }
        // The latest of equal maxima counts, and only after an event.
        let live: i64 = self.phases.iter().map(|counts| counts.live().0).sum();
        if live >= self.peak && !matches!(op, Op::Phase(_)) {
            self.peak = live;
            for counts in &mut self.phases {
                counts.peak = counts.live();
            }
        }
    }

    fn born(&mut self, place: usize, bytes: usize, birth: Option<Option<u64>>) {
        self.births += 1;
        let birth = birth.unwrap_or(Some(self.births));
        self.live[place] = Some(Live {
            bytes,
            phase: self.phase,
            birth: birth.filter(|_| bytes > SMALL),
        });
        let here = &mut self.phases[self.phase];
        here.total = (here.total.0 + bytes as u64, here.total.1 + 1);
    }

    fn gone(&mut self, old: &Live) {
        let its = &mut self.phases[old.phase];
        its.freed = (its.freed.0 + old.bytes as u64, its.freed.1 + 1);
    }
}
