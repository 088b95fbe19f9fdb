//! The head of the text report: what ran, how it was recorded, the totals and how far they can be trusted.
//!
//! Must never show the peak without its bound.

use std::io::{self, Write};

use super::page::Page;
use super::{Options, Style};
use crate::profile::{Figures, Profile, State};
use crate::units::{Bytes, Count, Nanos, counted, printable};

/// As wide as the names of the figures.
const INDENT: &str = "              ";

pub(super) fn write<W: Write>(
    page: &mut Page<'_, W>,
    profile: &Profile,
    options: &Options<'_>,
) -> io::Result<()> {
    let process = &profile.process;
    let program = printable(&process.program);
    let program = if program.is_empty() {
        "(unknown program)"
    } else {
        &*program
    };
    let ended = match profile.lost.damaged {
        0 => state(process.state).to_owned(),
        _ => format!("{}, damaged", state(process.state)),
    };
    page.line(
        Style::Heading,
        &match profile.capture.linear_memory {
            // Neither a clock nor processes.
            Some(_) => format!("{program}: {ended}"),
            None => format!(
                "{program}: {ended}, {} recorded, pid {}",
                Nanos(process.duration_ns),
                process.pid
            ),
        },
    )?;
    if !process.command.is_empty() {
        page.wrap(
            Style::Faint,
            "  command     ",
            &printable(&command(&process.command)),
        )?;
    }
    let capture = &profile.capture;
    let module = match capture.linear_memory {
        Some(_) => format!("{}, ", printable(&capture.architecture)),
        None => String::new(),
    };
    let mut how = format!(
        "{}, {module}{}, {}",
        printable(&capture.mode),
        printable(&capture.stacks()),
        counted(threads(profile), "thread")
    );
    if let Some(recording) = options.recording {
        how.push_str(&format!(
            "; {}, {}",
            printable(recording),
            Bytes(capture.recording_bytes)
        ));
    }
    page.wrap(Style::Faint, "  recorded    ", &how)?;
    page.blank()?;
    write_figures(page, profile)
}

/// Totals, peak and resident memory.
pub(super) fn write_figures<W: Write>(page: &mut Page<'_, W>, profile: &Profile) -> io::Result<()> {
    let (totals, capture) = (&profile.totals, &profile.capture);
    let running = profile.process.state == State::Running;
    let (live, peak_name) = if running {
        ("live now", "peak so far")
    } else {
        ("live at end", "peak")
    };
    let rows = [
        ("total", totals.total_bytes, totals.total_blocks),
        ("freed", totals.freed_bytes, totals.freed_blocks),
        ("temporary", totals.temporary_bytes, totals.temporary_blocks),
        (live, totals.live_bytes, totals.live_blocks),
        (peak_name, totals.peak_bytes, totals.peak_blocks),
    ];
    let widest = |figure: fn(&(&str, u64, u64)) -> u64| {
        rows.iter()
            .map(|row| Count(figure(row)).to_string().len())
            .max()
            .unwrap_or(0)
    };
    let (bytes_width, blocks_width) = (widest(|row| row.1), widest(|row| row.2));
    for (name, bytes, blocks) in rows {
        let (exact, blocks) = (Count(bytes), Count(blocks));
        page.plain(&format!(
            "  {name:<11} {:>10}  {exact:>bytes_width$} bytes  {blocks:>blocks_width$} blocks",
            Bytes(bytes)
        ))?;
    }
    page.wrap(Style::Faint, INDENT, &peak(profile))?;
    if let Some(reallocs) = reallocs(totals) {
        page.plain(&format!("  {:<11} {reallocs}", "reallocs"))?;
    }
    if let Some(memory) = capture.linear_memory {
        page.wrap(
            Style::Faint,
            "  memory      ",
            &format!(
                "{} linear, {} ({} at first), grown {}; {} of heapglass's own beside it",
                Bytes(memory.bytes()),
                counted(memory.pages, "page"),
                Count(memory.first_pages),
                counted(memory.grows, "time"),
                Bytes(memory.own_bytes())
            ),
        )?;
    }
    if let Some(at) = profile.resident() {
        let seen = match at.not_seen_bytes() {
            Some(bytes) => {
                format!(
                    "{} not seen by Rust's allocator ({} live then)",
                    Bytes(bytes),
                    Bytes(at.live_bytes)
                )
            }
            None => format!(
                "less than the {} live then: some was never touched",
                Bytes(at.live_bytes)
            ),
        };
        let own = if at.own_bytes > 0 {
            format!("; {} of it are heapglass's own", Bytes(at.own_bytes))
        } else {
            String::new()
        };
        page.wrap(
            Style::Faint,
            "  RSS         ",
            &format!(
                "{} at its largest ({}), {seen}{own}",
                Bytes(at.rss_bytes),
                Nanos(at.time_ns)
            ),
        )?;
    }
    if capture.mode != "exact" {
        page.wrap(
            Style::Warning,
            "  ! ",
            &format!("Mode {}: figures are estimates.", printable(&capture.mode)),
        )?;
    }
    Ok(())
}

/// `12 grows, 1 shrink, at most 1.4 MiB copied`, where there were any.
pub(super) fn reallocs(figures: &Figures) -> Option<String> {
    (figures.grows > 0 || figures.shrinks > 0).then(|| {
        format!(
            "{}, {}, at most {} copied",
            counted(figures.grows, "grow"),
            counted(figures.shrinks, "shrink"),
            Bytes(figures.copied_bytes)
        )
    })
}

/// When the peak was and how exact it is.
fn peak(profile: &Profile) -> String {
    let capture = &profile.capture;
    let when = if capture.peak_time_ns > 0 {
        format!("peak at {}, ", Nanos(capture.peak_time_ns))
    } else {
        String::new()
    };
    if capture.peak_error_bytes == 0 && capture.peak_discrepancy_bytes == 0 {
        return format!("{when}exact to the byte");
    }
    format!(
        "{when}within {}; measured discrepancy {}",
        Bytes(capture.peak_error_bytes),
        Bytes(capture.peak_discrepancy_bytes)
    )
}

pub(super) fn state(state: State) -> &'static str {
    match state {
        State::Running => "still running",
        State::Finished => "finished",
        State::Ended => {
            "ended without finishing (killed, aborted or left by _exit; all up to then is here)"
        }
        State::Unknown => "end unknown (recorded elsewhere)",
    }
}

/// Number of threads seen.
pub(super) fn threads(profile: &Profile) -> u64 {
    profile
        .threads
        .iter()
        .map(|thread| thread.count)
        .fold(0, u64::saturating_add)
}

/// The command line as a shell would read it.
pub(super) fn command(words: &[String]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| quote(word)).collect();
    quoted.join(" ")
}

fn quote(word: &str) -> String {
    let bare = |c: char| c.is_alphanumeric() || "-_./=:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(bare) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
