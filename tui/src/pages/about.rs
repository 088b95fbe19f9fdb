//! The page about the recording: the program, the mode, every loss in full, and the sources of
//! symbols or the reasons why they are missing.

use heapglass_profiler::profile::{Scope, SymbolSource};
use heapglass_profiler::units::{Bytes, counted};
use ratatui::text::{Line, Span};

use crate::model::Data;
use crate::text::{clean, fit_end, paragraph, width};
use crate::theme;

const LABEL: usize = 12;

/// Returns the page for a screen `cells` wide.
pub(crate) fn lines(data: &Data, title: &str, cells: u16) -> Vec<Line<'static>> {
    let cells = cells as usize;
    let profile = &data.profile;
    let (process, capture) = (profile.process(), profile.capture());
    let mut page = vec![Line::styled("The recording", theme::heading())];
    let bound = data.peak_exactness().swap_remove(0);
    let threads = profile.threads().iter().map(|thread| thread.count);
    let is_phase = |scope: &&Scope| !scope.kind.is_field();
    let fields = profile.fields().places();
    // Count types as the list of types does.
    let types = profile
        .type_rows()
        .iter()
        .filter(|row| row.type_id.is_some());
    let contents = [
        // Count sites as the columns do: those of the owners add up to this.
        (profile.counted_sites().count() as u64, "site"),
        (data.site_rows().len() as u64, "row"),
        (profile.functions().len() as u64, "function"),
        (threads.fold(0, u64::saturating_add), "thread"),
        (
            profile.scopes().iter().skip(1).filter(is_phase).count() as u64,
            "phase",
        ),
        (fields as u64, "field"),
        (types.count() as u64, "type"),
    ]
    .map(|(count, one)| match one {
        "row" => format!("{} in the list of sites", counted(count, one)),
        _ => counted(count, one),
    });
    let (state, duration) = (data.state(), data.duration());
    let (lives, own) = match capture.linear_memory {
        Some(memory) => (
            format!("{} module, {state}", capture.architecture),
            format!(
                "{} of linear memory, in addition to the program's",
                Bytes(memory.own_bytes())
            ),
        ),
        None => (
            format!("{}, {state}, {duration}", process.pid),
            format!("{} resident in the program", Bytes(capture.own_bytes)),
        ),
    };
    let reallocs =
        "charged to the site that reallocated; dhat-rs and heapscope charge the first site";
    let facts = [
        (
            "recording",
            format!("{title}, {}", Bytes(capture.recording_bytes)),
        ),
        ("program", process.executable.clone()),
        ("command", process.command.join(" ")),
        ("process", lives),
        ("mode", format!("{}, {}", capture.mode, capture.stacks())),
        ("peak", bound),
        ("heapglass", own),
        ("contents", contents.join(", ")),
        ("reallocs", reallocs.to_owned()),
    ];
    for (label, text) in facts {
        wrapped(&mut page, label, &clean(&text), cells);
    }
    if let Some(base) = &data.base {
        section(&mut page, "Compared with");
        wrapped(&mut page, "base", &clean(&base.name), cells);
        let command = base.profile.process().command.join(" ");
        wrapped(&mut page, "command", &clean(&command), cells);
        for warning in &data.warnings {
            wrapped(&mut page, "▲", warning, cells);
        }
    }
    section(&mut page, "Lost");
    if profile.losses().is_empty() {
        wrapped(&mut page, "", "nothing", cells);
    }
    for loss in profile.losses() {
        wrapped(&mut page, "▲", loss, cells);
    }
    section(&mut page, "Symbols");
    for module in profile.modules() {
        let symbols = match &module.symbols {
            SymbolSource::NotNeeded => continue,
            SymbolSource::Debug(from) => {
                format!("functions, inline frames and lines from {}", from.display())
            }
            SymbolSource::Table(from) => format!("functions without lines from {}", from.display()),
            SymbolSource::Packed => "packed in the recording".to_owned(),
            SymbolSource::Missing(_) => "missing, see above".to_owned(),
        };
        let path = clean(&module.path);
        let path = fit_end(&path, cells.saturating_sub(2));
        page.push(Line::raw(format!("  {path}")));
        wrapped(&mut page, "", &clean(&symbols), cells);
    }
    page
}

/// Starts a section of the page.
fn section(page: &mut Vec<Line<'static>>, title: &'static str) {
    page.push(Line::default());
    page.push(Line::styled(title, theme::heading()));
}

/// Adds `text` next to `label`, on as many lines as necessary.
fn wrapped(page: &mut Vec<Line<'static>>, label: &'static str, text: &str, cells: usize) {
    let room = cells.saturating_sub(LABEL + 2).max(8);
    for (at, line) in paragraph(text, room, "").into_iter().enumerate() {
        let label = if at == 0 { label } else { "" };
        let spaces = " ".repeat(LABEL.saturating_sub(width(label)));
        page.push(Line::from(vec![
            Span::raw("  "),
            Span::styled(label, theme::key()),
            Span::raw(spaces + &line),
        ]));
    }
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
