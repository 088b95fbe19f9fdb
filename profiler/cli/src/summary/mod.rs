//! What a run leaves on standard error: how the command ended, its figures, where its recordings are, what to do next.
//!
//! Must never write to standard output, which is the command's, and never turn the command's success into a failure:
//! a recording that cannot be read is a line of the summary.

mod json;
mod no_recording;
mod text;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use heapglass_profiler::profile::{Profile, State};

use crate::args::Symbols;
use crate::error::Error;
use crate::files::spool::KeptRecording;
use crate::supervise::Finished;
use crate::{no_effect, open, terminal};

/// Most recordings that are opened for the summary; the others are listed.
const OPENED: usize = 16;

/// A run that is over.
#[derive(Debug)]
pub(crate) struct Run<'a> {
    /// What people call it: the program, or `cargo test`.
    pub(crate) name: String,
    /// What was typed.
    pub(crate) command: &'a [OsString],
    /// Whether the figures are of the recording with the largest peak, else of the command's own or the earliest.
    pub(crate) shows_largest: bool,
    /// The crates of `--own`.
    pub(crate) own: &'a [String],
    /// The executables that ran, as far as known: looked into when nothing was recorded.
    pub(crate) executables: &'a [PathBuf],
    /// How it went.
    pub(crate) finished: &'a Finished,
}

/// How to write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Text,
    /// Only what went wrong.
    Quiet,
    Json,
}

/// A recording of the run; opened, if it is one of the first.
struct RunRecording<'a> {
    kept: &'a KeptRecording,
    profile: Option<Result<Profile, Error>>,
}

impl RunRecording<'_> {
    /// What was read of it.
    fn profile(&self) -> Option<&Profile> {
        self.profile.as_ref()?.as_ref().ok()
    }
}

/// Writes the summary to standard error.
pub(crate) fn write(run: &Run<'_>, form: Form) {
    // Of a quiet summary only an end for want of memory and the names of own crates need figures.
    let opens = form != Form::Quiet || run.finished.killed.is_some() || !run.own.is_empty();
    let most = if opens { OPENED } else { 0 };
    let kept = run.finished.kept.iter().enumerate();
    let recordings: Vec<RunRecording<'_>> = kept
        .map(|(at, kept)| RunRecording {
            kept,
            profile: (at < most).then(|| open::open(&kept.path, &Symbols::default())),
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

/// The recording that the summary is about: the one that was cut short when something was killed, else as wanted.
fn main_recording<'a, 'b>(
    run: &Run<'_>,
    recordings: &'b [RunRecording<'a>],
) -> Option<&'b RunRecording<'a>> {
    let was_cut_short = |one: &&RunRecording<'_>| {
        let state = one.profile().map(|profile| profile.process.state);
        run.finished.killed.is_some() && matches!(state, Some(State::Ended | State::Unknown))
    };
    let cut_short = recordings.iter().filter(was_cut_short);
    largest(cut_short, |profile| profile.totals.live_bytes).or_else(|| {
        if run.shows_largest {
            largest(recordings.iter(), |profile| profile.totals.peak_bytes)
        } else {
            recordings.first()
        }
    })
}

/// The recording with the largest figure, the earliest of equals.
fn largest<'a: 'b, 'b>(
    among: impl DoubleEndedIterator<Item = &'b RunRecording<'a>>,
    figure: fn(&Profile) -> u64,
) -> Option<&'b RunRecording<'a>> {
    among
        .rev()
        .max_by_key(|one| one.profile().map_or(0, figure))
}

/// A path as it is typed into a shell.
pub(crate) fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:,@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) && !text.starts_with('-') {
        return text.into_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// A path from here, when it lies below here.
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
