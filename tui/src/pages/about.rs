//! The page about the recording: who, how, every loss in full, and where symbols came from or why they are missing.

use heapglass_profiler::profile::{Scope, SymbolSource};
use heapglass_profiler::units::{Bytes, Nanos, counted};
use ratatui::text::{Line, Span};

use crate::model::Data;
use crate::text::{clean, fit_end, width};
use crate::theme;

const LABEL: usize = 12;

/// The page for a screen `cells` wide.
pub(super) fn lines(data: &Data, title: &str, cells: u16) -> Vec<Line<'static>> {
    let cells = cells as usize;
    let profile = &data.profile;
    let (process, capture) = (&profile.process, &profile.capture);
    let mut page = vec![Line::styled("The recording", theme::heading())];
    let bound = match capture.peak_error_bytes {
        0 => "exact to the byte".to_owned(),
        bound => format!(
            "within {}; the rows at the peak differ from the running maximum by {}",
            Bytes(bound),
            Bytes(capture.peak_discrepancy_bytes)
        ),
    };
    let threads = profile
        .threads
        .iter()
        .map(|thread| thread.count)
        .fold(0, u64::saturating_add);
    let phase = |scope: &&Scope| !scope.kind.is_field();
    let phases = profile.scopes.iter().skip(1).filter(phase).count() as u64;
    let facts = [
        (
            "recording",
            format!("{title}, {}", Bytes(capture.recording_bytes)),
        ),
        ("program", process.executable.clone()),
        ("command", process.command.join(" ")),
        (
            "process",
            match capture.linear_memory {
                Some(_) => format!("{} module, {}", capture.architecture, data.state()),
                None => format!(
                    "{}, {}, {}",
                    process.pid,
                    data.state(),
                    Nanos(process.duration_ns)
                ),
            },
        ),
        ("mode", format!("{}, {}", capture.mode, capture.stacks())),
        ("peak", bound),
        (
            "heapglass",
            match capture.linear_memory {
                Some(memory) => format!(
                    "{} of linear memory, beside the program's",
                    Bytes(memory.own_bytes())
                ),
                None => format!("{} resident in the program", Bytes(capture.own_bytes)),
            },
        ),
        (
            "contents",
            format!(
                "{}, {}, {}, {}, {}, {}",
                counted(profile.sites.len() as u64, "site"),
                counted(profile.functions.len() as u64, "function"),
                counted(threads, "thread"),
                counted(phases, "phase"),
                counted(
                    data.profile.fields().nodes.len().saturating_sub(1) as u64,
                    "field"
                ),
                counted(profile.types.len() as u64, "type"),
            ),
        ),
        (
            "reallocs",
            "count at the site that reallocated; dhat-rs and heapscope leave them at the first"
                .into(),
        ),
    ];
    for (label, text) in facts {
        wrapped(&mut page, label, &clean(&text), cells);
    }
    if let Some(base) = &data.base {
        page.push(Line::default());
        page.push(Line::styled("Compared with", theme::heading()));
        wrapped(&mut page, "base", &clean(&base.name), cells);
        let command = base.profile.process.command.join(" ");
        wrapped(&mut page, "command", &clean(&command), cells);
        for warning in data.warnings() {
            wrapped(&mut page, "▲", warning, cells);
        }
    }
    page.push(Line::default());
    page.push(Line::styled("Lost", theme::heading()));
    if data.losses().is_empty() {
        wrapped(&mut page, "", "nothing", cells);
    }
    for loss in data.losses() {
        wrapped(&mut page, "▲", loss, cells);
    }
    page.push(Line::default());
    page.push(Line::styled("Symbols", theme::heading()));
    for module in &profile.modules {
        let symbols = match &module.symbols {
            SymbolSource::NotNeeded => continue,
            SymbolSource::Debug(from) => {
                format!("functions, inline frames and lines from {}", from.display())
            }
            SymbolSource::Table(from) => format!("functions without lines from {}", from.display()),
            SymbolSource::Packed => "packed in the recording".to_owned(),
            SymbolSource::Missing(_) => "missing, see above".to_owned(),
        };
        page.push(Line::raw(format!(
            "  {}",
            fit_end(&clean(&module.path), cells.saturating_sub(2))
        )));
        wrapped(&mut page, "", &clean(&symbols), cells);
    }
    page
}

/// Adds `text` beside `label`, on as many lines as it takes, broken at blanks where there are any.
fn wrapped(page: &mut Vec<Line<'static>>, label: &'static str, text: &str, cells: usize) {
    let room = cells.saturating_sub(LABEL + 2).max(8);
    let mut label = label;
    let mut line = String::new();
    let mut push = |line: &mut String| {
        let label = std::mem::take(&mut label);
        let spaces = " ".repeat(LABEL.saturating_sub(width(label)));
        page.push(Line::from(vec![
            Span::raw("  "),
            Span::styled(label, theme::key()),
            Span::raw(spaces),
            Span::raw(std::mem::take(line)),
        ]));
    };
    for word in text.split(' ') {
        if !line.is_empty() && width(&line) + 1 + width(word) > room {
            push(&mut line);
        }
        if !line.is_empty() {
            line.push(' ');
        }
        for c in word.chars() {
            // A word longer than a line is broken anywhere.
            if width(&line) + width(c.encode_utf8(&mut [0; 4])) > room {
                push(&mut line);
            }
            line.push(c);
        }
    }
    push(&mut line);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str, cells: usize) -> Vec<String> {
        let mut page = Vec::new();
        wrapped(&mut page, "x", text, cells);
        page.iter()
            .map(|line| line.to_string().trim().to_owned())
            .collect()
    }

    #[test]
    fn long_texts_break_at_blanks_and_long_words_anywhere() {
        assert_eq!(texts("one two three", 22), ["x           one two", "three"]);
        assert_eq!(texts("abcdefghij", 0), ["x           abcdefgh", "ij"]);
        assert_eq!(texts("", 80), ["x"]);
    }
}
