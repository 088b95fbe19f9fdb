//! Programs for `tests/trust/sandbox.rs`.

mod libraries;
mod stacks;

use crate::cases::{Block, Tally};
use std::process::ExitCode;

static TALLY: Tally = Tally::new();

/// Runs a case. Returns `None` if no case has that name.
pub(super) fn run(name: &str, words: &[&str]) -> Option<ExitCode> {
    match name {
        "small-thread" => stacks::small(words),
        "foreign-stacks" => stacks::foreign(),
        "libraries" => libraries::in_turn(words),
        "reloaded-library" => libraries::reloaded(words),
        "after-generated-code" => libraries::after_generated_code(words),
        "deleted-library" => libraries::deleted(words),
        _ => return None,
    }
    Some(ExitCode::SUCCESS)
}
