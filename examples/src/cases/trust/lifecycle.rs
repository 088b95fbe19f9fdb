//! Programs for `tests/trust/lifecycle.rs`: everything that writes into a recording, before, during
//! and after its end.

mod copies;
mod ends;
mod forks;
mod work;

use std::process::ExitCode;

/// Runs a case. Returns `None` if no case has that name.
pub(super) fn run(name: &str, words: &[&str]) -> Option<ExitCode> {
    let word = words.first().copied().unwrap_or_default();
    let number = word.parse().unwrap_or(1);
    match name {
        "outlive-finish" => ends::outlive_finish(),
        "finish-while-others-write" => ends::finish_while_others_write(number),
        "exit-while-others-write" => ends::exit_while_others_write(number),
        "exit-in-a-handler" => ends::exit_in_a_handler(number),
        "finish-from-many" => ends::finish_from_many(),
        "bytes-of-a-file" => ends::bytes_of_a_file(word),
        "never-finished" => ends::never_finished(word),
        "cancelled" => ends::cancelled(number as usize),
        "everything-forever" => ends::everything_forever(),
        "outlive-fork" => forks::outlive_fork(),
        "children-never-wait" => forks::children_never_wait(number as usize),
        "children-record" => forks::children_record(number as usize),
        "child-of-a-worker" => forks::child_of_a_worker(word),
        "child-of-a-shared-lane" => forks::child_of_a_shared_lane(word),
        "handles-of-the-parent" => forks::handles_of_the_parent(word),
        "load-libraries" => copies::load(words),
        _ => return None,
    }
    Some(ExitCode::SUCCESS)
}
