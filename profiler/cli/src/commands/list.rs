//! Bare `heapglass`: offers the recordings in this folder and recent ones on a terminal, and lists
//! them elsewhere.

use std::io::IsTerminal;
use std::path::PathBuf;

use heapglass_profiler::units::{Bytes, printable};
use time::UtcDateTime;
use tracking_alloc_recording::{HeaderValue, Recording, VERSION, Writer};

use crate::args::Symbols;
use crate::error::Error;
use crate::explore::show_file;
use crate::files::output::{print, print_json};
use crate::files::{place, recent, since_epoch};
use crate::no_effect;
use crate::terminal::{self, has_terminal};

const NOTHING: &str = "\
There are no recordings in this folder and no recent ones. To make one:
  heapglass demo                           record an example
  heapglass run -- target/release/app      record a program that uses tracking-alloc
  cargo heapglass run --release            build a program for profiling and record it
  heapglass attach PID                     record a program that runs already
";

/// Maximum size of a recording that is read completely to see whether it is damaged.
const CHECKED_BYTES: u64 = 64 << 20;

/// Maximum number of recordings offered.
const OFFERED: usize = 30;

struct Offer {
    path: PathBuf,
    header: HeaderValue,
    found: Found,
}

/// The place where a recording was found.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    /// In the working directory.
    Here,
    /// In the list of recent recordings.
    Recent,
    /// In the place for live recordings, while its run is alive.
    Live,
    /// In the place for live recordings, where an earlier run left it.
    Left,
}

pub(super) fn run(symbols: &Symbols, json: bool) -> Result<(), Error> {
    let offers = offers();
    if json || !has_terminal() {
        let given = [
            ("--binary", symbols.binary.is_some()),
            ("--debug-dir", !symbols.debug_dir.is_empty()),
            ("--own", !symbols.own.is_empty()),
        ];
        for (option, _) in given.into_iter().filter(|(_, is_given)| *is_given) {
            no_effect::warn(option, "recordings are listed, not opened; pass a FILE");
        }
    }
    if json {
        let list: Vec<_> = offers.iter().map(Offer::to_json).collect();
        return print_json(&serde_json::json!({ "format": 1, "recordings": list }));
    }
    if offers.is_empty() {
        return print(NOTHING.as_bytes());
    }
    let mut text = String::new();
    let numbered = has_terminal() && std::io::stderr().is_terminal();
    if !numbered {
        for offer in &offers {
            text.push_str(&offer.describe());
            text.push('\n');
        }
        return print(text.as_bytes());
    }
    for (number, offer) in offers.iter().enumerate().rev() {
        text.push_str(&format!("{:>3}  {}\n", number + 1, offer.describe()));
    }
    let can_move = offers.iter().any(Offer::can_move);
    let also = if can_move {
        "m and a number: move that one here, "
    } else {
        ""
    };
    // The newest recordings are last, next to the question, where a short terminal still shows
    // them.
    terminal::eprint_question(format_args!(
        "{text}Which recording do you want to explore? [1-{}, {also}a and a process: record that one, Enter: none] ",
        offers.len()
    ));
    let answer = answer()?;
    if answer.is_empty() {
        return Ok(());
    }
    if let Some(target) = answer.strip_prefix('a') {
        let path = super::attach::begin(target.trim())?;
        return show_file(&path, symbols);
    }
    let (moves, number) = match answer.strip_prefix('m') {
        Some(number) => (true, number.trim()),
        None => (false, answer.as_str()),
    };
    let number = number.parse::<usize>().ok();
    let chosen = number
        .and_then(|number| offers.get(number.checked_sub(1)?))
        .ok_or_else(|| {
            Error::misuse(format_args!(
                "`{}` is not a number from 1 to {}; \
                 to open a recording by name, run heapglass FILE",
                printable(&answer),
                offers.len()
            ))
        })?;
    if moves {
        return chosen.move_here();
    }
    terminal::eprint_line("");
    show_file(&chosen.path, symbols)
}

/// Reads a line from the terminal.
fn answer() -> Result<String, Error> {
    let answer = std::io::stdin()
        .lines()
        .next()
        .transpose()
        .map_err(|error| {
            Error::misuse(format_args!(
                "cannot read the answer: {error}; to open a recording by name, run heapglass FILE"
            ))
        })?;
    Ok(answer.unwrap_or_default().trim().to_owned())
}

/// Returns the recordings in this folder, those that earlier runs left elsewhere, then recent ones,
/// each with the newest first.
fn offers() -> Vec<Offer> {
    let here = recent::in_this_folder().map(|(path, header)| (path, header, Found::Here));
    let mut left = place::left();
    left.sort_by_key(|left| std::cmp::Reverse(left.header.started_unix_ns));
    let elsewhere = left.into_iter().map(|left| {
        let found = if left.is_claimed {
            Found::Live
        } else {
            Found::Left
        };
        (left.path, left.header, found)
    });
    let recent = recent::remembered().map(|(path, header)| (path, header, Found::Recent));
    let mut known: Vec<PathBuf> = Vec::new();
    let mut offers: Vec<Offer> = Vec::new();
    for (path, header, found) in here.chain(elsewhere).chain(recent) {
        // A link in this folder may lead to a recording in the place for live recordings.
        let real = path.canonicalize().unwrap_or_else(|_| path.clone());
        if !known.contains(&real) {
            known.push(real);
            offers.push(Offer {
                path,
                header,
                found,
            });
        }
    }
    offers.truncate(OFFERED);
    offers
}

impl Offer {
    /// Returns `true` if an earlier run left the recording and no program writes to it.
    fn can_move(&self) -> bool {
        self.found == Found::Left && Writer::of(&self.header).is_gone()
    }

    /// Asks, then moves a recording that an earlier run left into the working directory.
    fn move_here(&self) -> Result<(), Error> {
        let shown = self.path.to_string_lossy();
        let shown = printable(&shown);
        if !self.can_move() {
            return Err(Error::misuse(format_args!(
                "cannot move {shown}: only a recording that an earlier run left and that no program writes to can be moved"
            )));
        }
        terminal::eprint_question(format_args!("Move {shown} to this folder? [y/N] "));
        if !matches!(answer()?.as_str(), "y" | "Y" | "yes") {
            return Ok(());
        }
        let moved = place::move_here(&self.path, &self.header).map_err(|error| {
            Error::misuse(format_args!("cannot move {shown} to this folder: {error}"))
        })?;
        terminal::eprint_line(format_args!(
            "moved to {}",
            printable(&moved.to_string_lossy())
        ));
        Ok(())
    }

    fn state(&self) -> &'static str {
        if self.header.version != VERSION {
            return "other version";
        }
        match Writer::of(&self.header) {
            Writer::Finished | Writer::Copied if self.is_damaged() => "damaged",
            Writer::Finished => "finished",
            Writer::Copied => "packed",
            Writer::Running => "running",
            Writer::Ended | Writer::OtherBoot => "ended",
            Writer::Unknown => "unknown",
        }
    }

    /// Returns `true` if a finished recording cannot be read.
    fn is_damaged(&self) -> bool {
        self.bytes() <= CHECKED_BYTES && Recording::open(&self.path).is_err()
    }

    fn bytes(&self) -> u64 {
        self.path.metadata().map_or(0, |metadata| metadata.len())
    }

    /// Returns the start time of the recording, or the modification time of its file if the start
    /// is unknown.
    fn date(&self) -> String {
        let written = || Some(since_epoch(self.path.metadata().ok()?.modified().ok()?).as_secs());
        date(match self.header.started_unix_ns / 1_000_000_000 {
            0 => written().unwrap_or(0),
            seconds => seconds,
        })
    }

    fn describe(&self) -> String {
        // Recordings of WebAssembly modules have no process id.
        let process = match self.header.pid {
            0 => String::new(),
            pid => format!("pid {pid}, "),
        };
        format!(
            "{}  ({}, {}, {process}{}{})",
            printable(&self.path.to_string_lossy()),
            self.date(),
            self.state(),
            Bytes(self.bytes()),
            match self.found {
                Found::Here => "",
                Found::Recent => ", recent",
                Found::Live => ", of a run in progress",
                Found::Left => ", left by an earlier run",
            },
        )
    }

    fn to_json(&self) -> serde_json::Value {
        serde_json::json!({
            "path": self.path.to_string_lossy(),
            "state": self.state(),
            "pid": self.header.pid,
            "started_unix_ns": self.header.started_unix_ns,
            "recording_bytes": self.bytes(),
            "here": self.found == Found::Here,
            "left": self.found == Found::Left,
        })
    }
}

/// Formats seconds since the Unix epoch, to the minute: `2026-11-22 21:28 UTC`.
fn date(seconds: u64) -> String {
    let moment = UtcDateTime::from_unix_timestamp(seconds.try_into().unwrap_or(0))
        .unwrap_or(UtcDateTime::UNIX_EPOCH);
    let (hour, minute, _) = moment.as_hms();
    format!("{} {hour:02}:{minute:02} UTC", moment.date())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(date(0), "1970-01-01 00:00 UTC");
        assert_eq!(date(951_782_399), "2000-02-28 23:59 UTC");
        assert_eq!(date(951_868_740), "2000-02-29 23:59 UTC");
        assert_eq!(date(1_709_251_200), "2024-03-01 00:00 UTC");
        assert_eq!(date(1_795_382_880), "2026-11-22 21:28 UTC");
    }
}
