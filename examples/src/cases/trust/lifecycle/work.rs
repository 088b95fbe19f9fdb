//! Work that writes into every table of a recording, and work that can continue after the
//! recording's end.

use super::super::super::{Block, Tally};
use crate::data::Random;
use bumpalo::Bump;
use serde::{Deserialize, Deserializer};
use std::fmt::Write;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicPtr, Ordering::*};
use std::task::{Context, Poll, Waker};
use tracking_alloc::arena::{Arena, Tracked};
use tracking_alloc::{Phase, PhaseFuture, Profiled, Recorder, mark, phase, phase_async};

pub(super) static TALLY: Tally = Tally::new();

/// The function that [`Stop`] calls once.
static AT_STOP: AtomicPtr<()> = AtomicPtr::new(std::ptr::null_mut());

/// Calls `f` in the middle of the next decoded value that contains a [`Stop`].
pub(super) fn at_stop(f: fn()) {
    AT_STOP.store(f as *mut (), Release);
}

#[derive(Debug, Deserialize)]
struct Ship {
    name: String,
    crew: Vec<String>,
    stop: Stop,
    cargo: Vec<(u32, String)>,
    note: Option<Box<str>>,
}

/// A field whose decoding calls a function.
#[derive(Debug)]
struct Stop;

impl<'de> Deserialize<'de> for Stop {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let f = AT_STOP.swap(std::ptr::null_mut(), AcqRel);
        if !f.is_null() {
            // SAFETY: a function of that type was stored there.
            unsafe { std::mem::transmute::<*mut (), fn()>(f)() }
        }
        <()>::deserialize(d).map(|()| Stop)
    }
}

const SHIP: &str = r#"{"name":"Albatros","crew":["Ada","Grace","Barbara Liskov"],"stop":null,
    "cargo":[[3,"anchors"],[4,"bells"]],"note":"a note that is long enough for a block"}"#;

/// Decodes a ship with every field counted.
pub(super) fn decode() {
    let Profiled(ship): Profiled<Ship> = serde_json::from_str(SHIP).expect("a ship");
    let Stop = ship.stop;
    assert_eq!((ship.crew.len(), ship.cargo.len()), (3, 2));
    assert!(ship.note.is_some_and(|note| note.len() > ship.name.len()));
}

/// A future that allocates at each poll and never ends.
pub(super) struct Endless(Vec<Block>);

impl Future for Endless {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        self.0.clear();
        self.0.push(Block::new(&TALLY, 77, 8));
        Poll::Pending
    }
}

fn poll(future: &mut Pin<Box<PhaseFuture<Endless>>>) {
    let mut context = Context::from_waker(Waker::noop());
    assert!(future.as_mut().poll(&mut context).is_pending());
}

/// Work that began while something recorded and continues after the recording ended.
pub(super) struct Begun {
    phase: Phase,
    future: Pin<Box<PhaseFuture<Endless>>>,
    unpolled: PhaseFuture<Endless>,
    arena: Tracked<Bump>,
    block: Block,
}

impl Begun {
    pub(super) fn new() -> Begun {
        let phase = phase("held");
        let mut future = Box::pin(phase_async("polled", Endless(Vec::new())));
        poll(&mut future);
        let arena = Tracked::new("arena", Bump::new());
        let _ = arena.alloc_str("before");
        Begun {
            phase,
            future,
            unpolled: phase_async("unpolled", Endless(Vec::new())),
            arena,
            block: Block::new(&TALLY, 100, 8),
        }
    }

    /// Continues and ends all of it, and requests everything else that a recording keeps.
    pub(super) fn go_on(mut self, recorder: Option<Recorder>) {
        self.block.resize(10_000);
        poll(&mut self.future);
        decode();
        // A value whose drop never runs, and enough bytes to trigger an update of the recording.
        let _ = self.arena.alloc("on the heap".repeat(3));
        for _ in 0..100 {
            let _ = self.arena.alloc_slice_copy(&[1u8; 2_000]);
        }
        let stats = self.arena.stats();
        assert!(stats.used_bytes > 200_000, "{stats:?}");
        mark("late");
        let _ = tracking_alloc::stats();
        tracking_alloc::footprint("late", &vec!["late".to_owned()]);
        if let Some(recorder) = recorder {
            recorder.mark("later");
            recorder.pause();
            recorder.resume();
            let _ = recorder.path();
            drop(recorder);
        }
        drop(phase("new").records(3).input_bytes(4));
        drop(self.unpolled.records(5).input_bytes(6));
        drop(self.future);
        drop(self.phase.records(7));
        drop(self.arena);
        drop(self.block);
    }
}

/// Runs one round of everything: old and new phases, a future, a decoded value, an arena, marks,
/// blocks of all sizes.
pub(super) fn round(random: &mut Random, number: usize, kept: &mut Vec<Block>) {
    let mut name = String::new();
    write!(name, "round {}", number / 20 % 500).expect("written");
    let _round = phase(&name).records(1);
    kept.push(Block::new(&TALLY, 1 + random.below(2_000), 8));
    if number.is_multiple_of(3) {
        let mut future = Box::pin(phase_async("future", Endless(Vec::new())));
        poll(&mut future);
        poll(&mut future);
    }
    decode();
    if number.is_multiple_of(5) {
        let arena = Tracked::new("rounds", Bump::new());
        let _ = arena.alloc_slice_copy(&[1u8; 500]);
        let _ = arena.alloc("leaked".to_owned());
    }
    if let Some(block) = kept.last_mut() {
        block.resize(1 + random.below(3_000));
    }
    if number.is_multiple_of(200) {
        mark("moment");
    }
    if kept.len() > random.below(400) {
        kept.clear();
    }
}

/// Runs rounds until the process ends.
pub(super) fn rounds_forever(seed: u64) {
    let random = &mut Random::new(seed);
    let mut kept = Vec::new();
    for number in seed as usize.. {
        round(random, number, &mut kept);
    }
}
