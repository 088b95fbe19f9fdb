//! Bare `heapglass`: the recordings here and recent ones, to choose from on a terminal, as a list elsewhere.

use std::io::{BufRead, IsTerminal, Write};
use std::path::PathBuf;
use std::time::SystemTime;

use heapglass_profiler::units::{Bytes, printable};
use tracking_alloc_recording::{Recording, Writer};

use super::tui::{has_terminal, show_file};
use crate::args::Symbols;
use crate::error::Error;
use crate::files::output::{print, print_json};
use crate::files::peek::{Peek, peek};
use crate::files::{recent, recover};
use crate::say;

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
    peek: Peek,
    here: bool,
}

pub(super) fn run(symbols: Symbols, json: bool) -> Result<u8, Error> {
    recover::before_listing();
    let offers = offers();
    if json {
        let list: Vec<_> = offers.iter().map(to_json).collect();
        print_json(&serde_json::json!({ "format": 1, "recordings": list }))?;
        return Ok(0);
    }
    if offers.is_empty() {
        print(NOTHING)?;
        return Ok(0);
    }
    let mut text = String::new();
    let numbered = has_terminal() && std::io::stderr().is_terminal();
    for (number, offer) in (1..).zip(&offers) {
        if numbered {
            text.push_str(&format!("{number:>3}  "));
        }
        text.push_str(&describe(offer));
        text.push('\n');
    }
    if !numbered {
        print(&text)?;
        return Ok(0);
    }
    let _ = write!(
        std::io::stderr(),
        "{text}Explore which one? [1-{}, Enter: none] ",
        offers.len()
    );
    let mut answer = String::new();
    std::io::stdin()
        .lock()
        .read_line(&mut answer)
        .map_err(|error| {
            Error::misuse(format_args!(
                "cannot read the answer: {error}; name the recording: heapglass FILE"
            ))
        })?;
    let answer = answer.trim();
    if answer.is_empty() {
        return Ok(0);
    }
    let chosen = answer
        .parse::<usize>()
        .ok()
        .and_then(|number| offers.get(number.checked_sub(1)?));
    let Some(chosen) = chosen else {
        return Err(Error::misuse(format_args!(
            "{answer} is none of 1 to {}; name the recording: heapglass FILE",
            offers.len()
        )));
    };
    say::line("");
    show_file(&chosen.path, &symbols)?;
    Ok(0)
}

/// The recordings of this folder, then remembered ones from elsewhere, each the newest first.
fn offers() -> Vec<Offer> {
    let mut offers: Vec<Offer> = recent::in_folder(std::path::Path::new("."))
        .into_iter()
        .map(|(path, peek)| Offer {
            path: path.strip_prefix(".").unwrap_or(&path).to_owned(),
            peek,
            here: true,
        })
        .collect();
    let known: Vec<_> = offers
        .iter()
        .filter_map(|offer| offer.path.canonicalize().ok())
        .collect();
    for entry in recent::remembered() {
        let is_known = entry
            .path
            .canonicalize()
            .is_ok_and(|path| known.contains(&path));
        if let Some(peek) = peek(&entry.path).filter(|_| !is_known) {
            offers.push(Offer {
                path: entry.path,
                peek,
                here: false,
            });
        }
    }
    offers.truncate(OFFERED);
    offers
}

fn state_of(offer: &Offer) -> &'static str {
    match offer.peek.writer() {
        Writer::Finished if is_damaged(offer) => "damaged",
        Writer::Finished => "finished",
        Writer::Running => "running",
        Writer::Ended | Writer::OtherBoot => "ended",
        Writer::Unknown => "unknown",
    }
}

/// Whether a finished recording cannot be read.
fn is_damaged(offer: &Offer) -> bool {
    bytes_of(offer) <= CHECKED_BYTES && Recording::open(&offer.path).is_err()
}

/// When a recording was begun, or its file last written where that is not known: `2026-11-22 21:28 UTC`.
fn date_of(offer: &Offer) -> String {
    let written = || {
        let modified = offer.path.metadata().and_then(|file| file.modified());
        let since = modified.map(|time| time.duration_since(SystemTime::UNIX_EPOCH));
        since.ok()?.ok().map(|since| since.as_secs())
    };
    let seconds = match offer.peek.header.started_unix_ns / 1_000_000_000 {
        0 => written().unwrap_or(0),
        seconds => seconds,
    };
    date(seconds)
}

/// A moment in seconds since the Unix epoch, to the minute.
fn date(seconds: u64) -> String {
    let (days, minutes) = (seconds / 86_400, seconds / 60 % 1_440);
    // Years from March on, so that a leap day is a year's last; 400 of them have 146,097 days.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    let year = era * 400 + year + next;
    format!(
        "{year}-{month:02}-{day:02} {:02}:{:02} UTC",
        minutes / 60,
        minutes % 60
    )
}

fn bytes_of(offer: &Offer) -> u64 {
    offer.path.metadata().map_or(0, |metadata| metadata.len())
}

fn describe(offer: &Offer) -> String {
    // WebAssembly modules have none.
    let process = match offer.peek.header.pid {
        0 => String::new(),
        pid => format!("pid {pid}, "),
    };
    format!(
        "{}  ({}, {}, {process}{}{})",
        printable(&offer.path.to_string_lossy()),
        date_of(offer),
        state_of(offer),
        Bytes(bytes_of(offer)),
        if offer.here { "" } else { ", recent" },
    )
}

fn to_json(offer: &Offer) -> serde_json::Value {
    serde_json::json!({
        "path": offer.path.to_string_lossy(),
        "state": state_of(offer),
        "pid": offer.peek.header.pid,
        "started_unix_ns": offer.peek.header.started_unix_ns,
        "recording_bytes": bytes_of(offer),
        "here": offer.here,
    })
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
