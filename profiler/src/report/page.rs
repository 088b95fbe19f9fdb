//! Where lines of text are written: knows the width of the terminal and the mark-up.
//!
//! Must never write a line wider than that (but for a terminal narrower than any report).

use std::io::{self, Write};

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::{Options, Style};

/// Where lines are written.
pub(super) struct Page<'a, W> {
    pub(super) out: W,
    options: &'a Options<'a>,
    pub(super) width: usize,
}

impl<'a, W: Write> Page<'a, W> {
    pub(super) fn new(options: &'a Options<'a>, out: W) -> Self {
        Page {
            out,
            options,
            width: options.width.max(40),
        }
    }

    pub(super) fn blank(&mut self) -> io::Result<()> {
        writeln!(self.out)
    }

    pub(super) fn part(&mut self, style: Style, text: &str) -> io::Result<()> {
        let (before, after) = (self.options.paint)(style);
        write!(self.out, "{before}{text}{after}")
    }

    pub(super) fn line(&mut self, style: Style, text: &str) -> io::Result<()> {
        self.part(style, &clip(text, self.width))?;
        self.blank()
    }

    pub(super) fn plain(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.out, "{}", clip(text, self.width))
    }

    /// The last part of a line of which `used` columns are taken.
    pub(super) fn end(&mut self, text: &str, used: usize) -> io::Result<()> {
        writeln!(self.out, "{}", clip(text, self.width.saturating_sub(used)))
    }

    /// Lines broken at blanks; those after the first are indented as `start` is wide.
    pub(super) fn wrap(&mut self, style: Style, start: &str, text: &str) -> io::Result<()> {
        let room = self.width.saturating_sub(start.width()).max(20);
        let mut lead = start.to_owned();
        let mut line = String::new();
        for word in text.split(' ') {
            let word = clip(word, room);
            if !line.is_empty() && line.width() + 1 + word.width() > room {
                self.line(style, &format!("{lead}{}", line.trim_end()))?;
                lead = " ".repeat(start.width());
                line.clear();
            } else if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(&word);
        }
        self.line(style, &format!("{lead}{line}"))
    }
}

/// At most `columns` columns, the end replaced by dots.
fn clip(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let room = columns.saturating_sub(2);
    let mut used = 0;
    let mut clipped: String = text
        .chars()
        .take_while(|c| {
            used += c.width().unwrap_or(0);
            used <= room
        })
        .collect();
    clipped.push_str(&".."[..columns.min(2)]);
    clipped
}
