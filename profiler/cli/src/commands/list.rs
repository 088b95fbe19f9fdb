//! Bare `heapglass`: the recordings here and recent ones, to choose from on a terminal, as a list elsewhere.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use heapglass_profiler::units::{Bytes, printable};
use time::UtcDateTime;
use tracking_alloc_recording::{HeaderValue, Recording, Writer};

use super::tui::show_file;
use crate::args::Symbols;
use crate::error::Error;
use crate::files::output::{print, print_json};
use crate::files::{recent, recover, since_epoch};
use crate::terminal::{self, has_terminal};

const NOTHING: &str = "\
No recordings here and none remembered. Make one:
  heapglass demo                           on real input, nothing to prepare
  heapglass run -- target/release/app      a program with tracking-alloc in it
  cargo heapglass run --release            build it with what profiling needs first
";

/// The largest recording that is read whole to see whether it is damaged.
const CHECKED_BYTES: u64 = 64 << 20;

/// Most recordings offered.
const OFFERED: usize = 30;

struct Offer {
    path: PathBuf,
    header: HeaderValue,
    is_here: bool,
}

pub(super) fn run(symbols: &Symbols, json: bool) -> Result<(), Error> {
    recover::before_listing();
    let offers = offers();
    if json {
        let list: Vec<_> = offers.iter().map(Offer::to_json).collect();
        return print_json(&serde_json::json!({ "format": 1, "recordings": list }));
    }
    if offers.is_empty() {
        return print(NOTHING.as_bytes());
    }
    let mut text = String::new();
    let numbered = has_terminal() && std::io::stderr().is_terminal();
    for (number, offer) in (1..).zip(&offers) {
        if numbered {
            text.push_str(&format!("{number:>3}  "));
        }
        text.push_str(&offer.describe());
        text.push('\n');
    }
    if !numbered {
        return print(text.as_bytes());
    }
    let _ = write!(
        std::io::stderr(),
        "{text}Explore which one? [1-{}, Enter: none] ",
        offers.len()
    );
    let answer = std::io::stdin().lines().next().transpose();
    let answer = answer.map_err(|error| {
        Error::misuse(format_args!(
            "cannot read the answer: {error}; name the recording: heapglass FILE"
        ))
    })?;
    let answer = answer.unwrap_or_default();
    let answer = answer.trim();
    if answer.is_empty() {
        return Ok(());
    }
    let number = answer.parse::<usize>().ok();
    let chosen = number.and_then(|number| offers.get(number.checked_sub(1)?));
    let chosen = chosen.ok_or_else(|| {
        Error::misuse(format_args!(
            "{answer} is none of 1 to {}; name the recording: heapglass FILE",
            offers.len()
        ))
    })?;
    terminal::eprint_line("");
    show_file(&chosen.path, symbols)
}

/// The recordings of this folder, then remembered ones from elsewhere, each the newest first.
fn offers() -> Vec<Offer> {
    let offer = |is_here| {
        move |(path, header)| Offer {
            path,
            header,
            is_here,
        }
    };
    let mut offers: Vec<Offer> = recent::in_this_folder().map(offer(true)).collect();
    let known: Vec<_> = offers
        .iter()
        .filter_map(|offer| offer.path.canonicalize().ok())
        .collect();
    let is_known = |path: &Path| path.canonicalize().is_ok_and(|path| known.contains(&path));
    let others = recent::remembered().filter(|(path, _)| !is_known(path));
    offers.extend(others.map(offer(false)));
    offers.truncate(OFFERED);
    offers
}

impl Offer {
    fn state(&self) -> &'static str {
        match Writer::of(&self.header) {
            Writer::Finished if self.is_damaged() => "damaged",
            Writer::Finished => "finished",
            Writer::Running => "running",
            Writer::Ended | Writer::OtherBoot => "ended",
            Writer::Unknown => "unknown",
        }
    }

    /// Whether a finished recording cannot be read.
    fn is_damaged(&self) -> bool {
        self.bytes() <= CHECKED_BYTES && Recording::open(&self.path).is_err()
    }

    fn bytes(&self) -> u64 {
        self.path.metadata().map_or(0, |metadata| metadata.len())
    }

    /// When the recording was begun, or its file last written where that is not known.
    fn date(&self) -> String {
        let written = || Some(since_epoch(self.path.metadata().ok()?.modified().ok()?).as_secs());
        date(match self.header.started_unix_ns / 1_000_000_000 {
            0 => written().unwrap_or(0),
            seconds => seconds,
        })
    }

    fn describe(&self) -> String {
        // WebAssembly modules have none.
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
            if self.is_here { "" } else { ", recent" },
        )
    }

    fn to_json(&self) -> serde_json::Value {
        serde_json::json!({
            "path": self.path.to_string_lossy(),
            "state": self.state(),
            "pid": self.header.pid,
            "started_unix_ns": self.header.started_unix_ns,
            "recording_bytes": self.bytes(),
            "here": self.is_here,
        })
    }
}

/// A moment in seconds since the Unix epoch, to the minute: `2026-11-22 21:28 UTC`.
fn date(seconds: u64) -> String {
    let moment = UtcDateTime::from_unix_timestamp(seconds.try_into().unwrap_or(0));
    let moment = moment.unwrap_or(UtcDateTime::UNIX_EPOCH);
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
