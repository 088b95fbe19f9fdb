//! The target programs, one function per case. Each prints what it did as `name=number` words,
//! which a test compares with the recording.
//!
//! The compared work happens in the phase `work`, by allocator calls that the case itself counts.
//! So other allocations of the runtime (threads, output) do not affect the figures.

mod advice;
mod fail;
mod growth;
mod held;
mod inner;
mod lengths;
mod phases;
mod processes;
mod signals;
mod skewed;
mod stacks;
mod survive;
mod tally;
mod threads;
mod trust;

pub use fail::QUIET_BYTES;
pub use held::hold;
pub use skewed::KINDS as SKEWED_KINDS;

pub use tally::{Block, Tally};

use std::process::ExitCode;

/// Runs a case. Returns its exit status.
///
/// # Panics
/// If there is no case of that name, or if the system refuses what the case needs.
pub fn run(name: &str, words: &[&str]) -> ExitCode {
    let number = |index: usize| {
        words
            .get(index)
            .and_then(|word| word.parse::<usize>().ok())
            .unwrap_or(1)
    };
    match name {
        "switch" => threads::switch(number(0)),
        "swap" => threads::swap(number(0)),
        "short-threads" => threads::short(number(0)),
        "live-threads" => threads::live(number(0)),
        "thread-ends" => threads::ends(),
        "peak" => threads::peak(number(0)),
        "sizes" => return inner::sizes(number(0) as u64),
        "boxes" => inner::boxes(number(0)),
        "die" => return survive::die(words.first().copied().unwrap_or_default()),
        "forever" => survive::forever(),
        "many-sites" => return survive::many_sites(number(0), words.get(1).copied()),
        "stacks" => stacks::stacks(number(0) as u32, words.get(1) == Some(&"forever")),
        "fork" => processes::fork(number(0)),
        "spawn" => processes::spawn(number(0)),
        "exec" => processes::exec(),
        "close-all" => processes::close_all(words.first().copied().unwrap_or_default()),
        "child-recorder" => processes::child_recorder(words.first().copied().unwrap_or_default()),
        "signals" => signals::timer(number(0)),
        "errno" => signals::errno(),
        "frame-register" => signals::frame_register(number(0)),
        "phases" => phases::nested(),
        "phases-in-turn" => phases::in_turn(),
        "phase-handles" => phases::handles(number(0)),
        "phase-running" => phases::running(),
        "phase-in-dropped-future" => phases::in_dropped_future(),
        "async" => phases::asynchronous(number(0)),
        "pause" => phases::pause(),
        "windows" => phases::windows(),
        "time" => phases::time(number(0)),
        "growth" => growth::run(words.first().copied().unwrap_or_default(), number(1)),
        "checkpoints" => growth::checkpoints(number(0)),
        "checkpoint-cost" => {
            growth::checkpoint_cost(number(0), number(1), words.get(2) == Some(&"inside"));
        }
        "advice" => {
            let kind = words.first().copied().unwrap_or_default();
            advice::run(kind, words.get(1) == Some(&"remedy"));
        }
        "held" => {
            let kind = words.first().copied().unwrap_or_default();
            held::run(kind, words.get(1) == Some(&"remedy"));
        }
        "fail" => fail::run(),
        "skewed" => skewed::run(number(0), number(1)),
        "lengths" => lengths::run(words.first().copied().unwrap_or_default()),
        "bounded" => phases::bounded(number(0), number(1)),
        _ => {
            return trust::run(name, words).unwrap_or_else(|| panic!("no case is called {name:?}"));
        }
    }
    ExitCode::SUCCESS
}
