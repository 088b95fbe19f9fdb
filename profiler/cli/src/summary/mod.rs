//! The summary of a run on standard error: the end of the command, its figures, the paths of its
//! recordings, and the next step.
//!
//! Never writes to standard output, which belongs to the command. Never turns the success of the
//! command into a failure: a recording that cannot be read is a line of the summary.

mod json;
mod no_recording;
mod text;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use heapglass_profiler::profile::{Profile, State};

use tracking_alloc_recording::{UNREADABLE_EXEC, UNRECORDED_EXEC};

use crate::args::Symbols;
use crate::error::Error;
use crate::files::spool::KeptRecording;
use crate::supervise::Finished;
use crate::{no_effect, open, preload, terminal};

/// Maximum number of recordings to open for the summary. The others are only listed.
const OPENED: usize = 16;

/// A completed run.
#[derive(Debug)]
pub(crate) struct Run<'a> {
    /// Name of the run: the program, or `cargo test`.
    pub(crate) name: String,
    /// The command line.
    pub(crate) command: &'a [OsString],
    /// A sentence about how the command was recorded.
    pub(crate) how: Option<&'a str>,
    /// `true` if programs without tracking-alloc were recorded too.
    pub(crate) preloads: bool,
    /// The values of `--own`.
    pub(crate) own: &'a [String],
    /// The known executables that ran. They are inspected if nothing was recorded.
    pub(crate) executables: &'a [PathBuf],
    /// The end of the command and its recordings.
    pub(crate) finished: &'a Finished,
}

/// The form of the summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Text,
    /// Only problems.
    Quiet,
    Json,
}

/// A recording of the run. Only the first ones are opened.
struct RunRecording<'a> {
    kept: &'a KeptRecording,
    profile: Option<Result<Profile, Error>>,
    /// `true` if the preloaded library made it, `false` if its program links tracking-alloc.
    is_preloaded: bool,
}

impl RunRecording<'_> {
    /// Returns the profile, if it was read.
    fn profile(&self) -> Option<&Profile> {
        self.profile.as_ref()?.as_ref().ok()
    }

    /// Returns the file name of the executable. The path of a recording has the name of the
    /// command, which may lead to another executable.
    fn program(&self) -> &str {
        self.profile()
            .map(|profile| profile.process().program.as_str())
            .filter(|program| !program.is_empty())
            .unwrap_or(&self.kept.program)
    }
}

/// Writes the summary to standard error.
pub(crate) fn write(run: &Run<'_>, form: Form) {
    // A quiet summary needs figures only if the run ended out of memory, or to check the names of
    // own crates.
    let opens = form != Form::Quiet || run.finished.killed.is_some() || !run.own.is_empty();
    let most = if opens { OPENED } else { 0 };
    let kept = run.finished.kept.iter().enumerate();
    let recordings: Vec<RunRecording<'_>> = kept
        .map(|(at, kept)| RunRecording {
            kept,
            profile: (at < most).then(|| open::open(&kept.path, &Symbols::default())),
            is_preloaded: !kept.is_preferred,
        })
        .collect();
    let profiles: Vec<&Profile> = recordings
        .iter()
        .filter_map(RunRecording::profile)
        .collect();
    if !profiles.is_empty() {
        for line in no_effect::unmatched_own(run.own, &profiles) {
            terminal::eprint_line(line);
        }
    }
    match form {
        Form::Json => json::write(run, &recordings),
        Form::Text | Form::Quiet => text::write(run, &recordings, form == Form::Quiet),
    }
}

/// Returns the recording to summarize: the one that was cut short if a process was killed, else the
/// one with the largest peak among those whose program links tracking-alloc, else among all.
fn main_recording<'a, 'b>(
    run: &Run<'_>,
    recordings: &'b [RunRecording<'a>],
) -> Option<&'b RunRecording<'a>> {
    let was_cut_short = |one: &&RunRecording<'_>| {
        let state = one.profile().map(|profile| profile.process().state);
        run.finished.killed.is_some() && matches!(state, Some(State::Ended | State::Unknown))
    };
    let cut_short = recordings.iter().filter(was_cut_short);
    largest(cut_short, |profile| profile.totals().live_bytes).or_else(|| {
        let peak = |profile: &Profile| profile.totals().peak_bytes;
        let is_linked = |one: &&RunRecording<'_>| one.profile.is_some() && !one.is_preloaded;
        let linked = recordings.iter().filter(is_linked);
        largest(linked, peak).or_else(|| largest(recordings.iter(), peak))
    })
}

/// Returns sentences about what preloaded libraries did not see of the programs.
fn not_seen(recordings: &[RunRecording<'_>]) -> Vec<String> {
    let preloaded = recordings.iter().filter(|one| one.is_preloaded);
    let programs: BTreeSet<(&str, &str)> = preloaded
        .filter_map(|one| {
            let profile = one.profile()?;
            let allocator = profile.capture().allocator.as_str();
            Some((profile.process().executable.as_str(), allocator))
        })
        .collect();
    let of_programs = programs
        .into_iter()
        .flat_map(|(program, allocator)| preload::not_seen(Path::new(program), allocator));
    let became_unrecorded = recordings.iter().filter_map(became_unrecorded);
    of_programs.chain(became_unrecorded).collect()
}

/// Returns a sentence about a program that became another one, which was not recorded.
fn became_unrecorded(recording: &RunRecording<'_>) -> Option<String> {
    let profile = recording.profile()?;
    // A program that finished its recording did not become another one.
    let is_cut_short = profile.process().state != State::Finished;
    let last = profile.marks().last().filter(|_| is_cut_short)?;
    let why = match last.name.as_str() {
        UNRECORDED_EXEC => "its environment lacks HEAPGLASS_OUT (`env -i` clears it)",
        UNREADABLE_EXEC => {
            "the preloaded library cannot be read from there (another root folder, for example)"
        }
        _ => return None,
    };
    Some(format!(
        "{name} became another program, which is not recorded: {why}; run heapglass behind it: {name} .. heapglass run -- PROGRAM",
        name = recording.program()
    ))
}

/// Returns the recording with the largest figure, the earliest of equals.
fn largest<'a: 'b, 'b>(
    among: impl DoubleEndedIterator<Item = &'b RunRecording<'a>>,
    figure: fn(&Profile) -> u64,
) -> Option<&'b RunRecording<'a>> {
    among
        .rev()
        .max_by_key(|one| one.profile().map_or(0, figure))
}

/// Quotes a path for a shell, if necessary.
pub(crate) fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:,@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) && !text.starts_with('-') {
        return text.into_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Returns a path relative to the working directory if it is below it.
pub(crate) fn from_here(path: &Path) -> PathBuf {
    std::env::current_dir()
        .ok()
        .and_then(|here| path.strip_prefix(here).ok())
        .unwrap_or(path)
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_quoted_only_when_a_shell_would_take_them_apart() {
        assert_eq!(quoted(Path::new("a/b-1.hg")), "a/b-1.hg");
        assert_eq!(quoted(Path::new("a b's")), "'a b'\\''s'");
        assert_eq!(quoted(Path::new("-o")), "'-o'");
    }
}
