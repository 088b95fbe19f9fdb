//! A page of text: collects lines, and knows the width of the terminal and the mark-up.
//!
//! It must never write a line wider than the terminal, unless the terminal is narrower than any
//! report.

use std::io::{self, Write};

use unicode_width::UnicodeWidthStr;

use super::{DEFAULT_TOP, ReportOptions, Style};
use crate::table::{Column, cells, clip, titles, without_folders};
use crate::units::words;

/// The text of a report, which is written all at once: so none of its parts can fail.
pub(crate) struct Page<'a> {
    text: String,
    pub(crate) options: &'a ReportOptions<'a>,
    pub(crate) width: usize,
    /// `true` if figures of recorded events are estimates.
    pub(crate) has_estimates: bool,
}

impl<'a> Page<'a> {
    pub(crate) fn new(options: &'a ReportOptions<'a>) -> Self {
        Page {
            text: String::new(),
            options,
            width: options.width.max(40),
            has_estimates: false,
        }
    }

    /// Returns the number of rows to show.
    pub(crate) fn top(&self) -> usize {
        self.options.top.unwrap_or(DEFAULT_TOP)
    }

    /// Writes what was collected.
    pub(crate) fn finish(self, mut out: impl Write) -> io::Result<()> {
        out.write_all(self.text.as_bytes())?;
        out.flush()
    }

    pub(crate) fn blank(&mut self) {
        self.text.push('\n');
    }

    pub(crate) fn part(&mut self, style: Style, text: &str) {
        let (before, after) = (self.options.paint)(style);
        self.text.extend([before, text, after]);
    }

    pub(crate) fn line(&mut self, style: Style, text: &str) {
        self.part(style, &clip(text, self.width));
        self.blank();
    }

    pub(crate) fn plain(&mut self, text: &str) {
        self.end(text, 0);
    }

    /// The last part of a line of which `used` columns are taken.
    pub(crate) fn end(&mut self, text: &str, used: usize) {
        self.text += &clip(text, self.width.saturating_sub(used));
        self.blank();
    }

    /// The titles of columns, and what stands behind them.
    pub(crate) fn head<T>(&mut self, columns: &[Column<T>], behind: &str) {
        let head = format!("{}  {behind}", titles(columns, self.has_estimates));
        self.line(Style::Heading, head.trim_end());
    }

    /// The figures of a row, the second one, by which rows are ordered, in colour; returns how wide
    /// they are.
    pub(crate) fn figures<T>(&mut self, columns: &[Column<T>], row: &T) -> usize {
        let mut used = 0;
        for (at, cell) in cells(columns, row).into_iter().enumerate() {
            let style = if at == 1 { Style::Strong } else { Style::Faint };
            self.part(style, &cell);
            used += cell.width();
        }
        used
    }

    /// The name of a row behind its figures, in a tree so deep; deep places keep room for their
    /// name.
    pub(crate) fn place(&mut self, used: usize, depth: usize, name: &str) {
        let used = used + 2;
        let indent = self.indent(used, depth);
        self.part(Style::Faint, "  ");
        self.end(&format!("{}{name}", " ".repeat(indent)), used);
    }

    /// Returns the columns that a name has at a [place](Page::place).
    pub(crate) fn room(&self, used: usize, depth: usize) -> usize {
        let used = used + 2;
        self.width.saturating_sub(used + self.indent(used, depth))
    }

    fn indent(&self, used: usize, depth: usize) -> usize {
        (2 * depth).min(self.width.saturating_sub(used) / 2)
    }

    /// Lines broken at blanks; those after the first are indented as `start` is wide.
    pub(crate) fn wrap(&mut self, style: Style, start: &str, text: &str) {
        self.broken(style, start, start, text);
    }

    /// Writes a heading; what does not fit in one line continues below, indented.
    pub(crate) fn heading(&mut self, text: &str) {
        self.broken(Style::Heading, "    ", "", text);
    }

    /// Writes a warning that a reader must know before trusting the figures.
    pub(crate) fn warning(&mut self, sentence: &str) {
        self.wrap(Style::Warning, "  ! ", sentence);
    }

    /// Writes a text after its name, as in the head of a report.
    pub(crate) fn entry(&mut self, style: Style, name: &str, text: &str) {
        self.wrap(style, &format!("  {name:<11} "), text);
    }

    /// Parts with two blanks between, broken there where they do not fit in one line, else at any
    /// blank; as much of the first line is written already as `start` is wide.
    pub(crate) fn parts_after(&mut self, style: Style, start: &str, parts: &[&str]) {
        let room = self.width.saturating_sub(start.width()).max(20);
        let mut first = "";
        let mut line = String::new();
        for part in parts.iter().filter(|part| !part.is_empty()) {
            let more = line.width() + 2 + part.width();
            if !line.is_empty() && more > room {
                self.broken(style, start, first, &line);
                first = start;
                line.clear();
            } else if !line.is_empty() {
                line.push_str("  ");
            }
            line.push_str(part);
        }
        self.broken(style, start, first, &line);
    }

    fn broken(&mut self, style: Style, start: &str, first: &str, text: &str) {
        let room = self.width.saturating_sub(start.width()).max(20);
        let mut lead = first.to_owned();
        let mut line = String::new();
        for word in words(text) {
            let word = clip_word(&word, room);
            if !line.is_empty() && line.width() + 1 + word.width() > room {
                self.line(style, &format!("{lead}{}", line.trim_end()));
                lead = " ".repeat(start.width());
                line.clear();
            } else if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(&word);
        }
        self.line(style, &format!("{lead}{line}"));
    }
}

/// The first few of some names, the others counted: `String, Vec<u8>, 2 more`.
pub(crate) fn first_few(names: impl ExactSizeIterator<Item = String>, most: usize) -> String {
    let rest = names.len().saturating_sub(most);
    let mut few: Vec<String> = names.take(most).collect();
    if rest > 0 {
        few.push(format!("{rest} more"));
    }
    few.join(", ")
}

/// A word in at most `columns` columns. A path loses its first folders: the file and its line say
/// most.
fn clip_word(word: &str, columns: usize) -> String {
    let is_path = word.contains('/') && !word.contains("://");
    if is_path {
        let shorter = without_folders(word, columns);
        if shorter.width() <= columns {
            return shorter.into_owned();
        }
    }
    clip(word, columns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_is_too_long_keeps_its_file_and_line() {
        let path = "mdbook-0.4.52/src/renderer/html_handlebars/search.rs:267";
        assert_eq!(clip_word(path, 60), path);
        assert_eq!(
            clip_word(path, 44),
            "../renderer/html_handlebars/search.rs:267"
        );
        assert_eq!(clip_word(path, 20), "../search.rs:267");
        assert_eq!(clip_word(path, 10), "mdbook-0..");
        assert_eq!(clip_word("a_long_word", 6), "a_lo..");
    }
}
