//! Lines of text from top to bottom. Lines that do not fit into the area are left out.

use heapglass_profiler::profile::{Figures, Measure, Number};
use heapglass_profiler::units::Bytes;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::area::{below, right_of};
use super::write;
use crate::text::{paragraph, width, wrap};
use crate::theme;

/// A writer of lines from the top of an area down.
pub(crate) struct Lines<'a> {
    /// The rest of the area, below the lines written so far.
    pub(crate) rest: Rect,
    buffer: &'a mut Buffer,
}

impl<'a> Lines<'a> {
    pub(crate) fn new(area: Rect, buffer: &'a mut Buffer) -> Self {
        Lines { rest: area, buffer }
    }

    /// Starts the details of one item: a rule with `title`, and its name on at most `most` lines.
    pub(crate) fn details(
        area: Rect,
        buffer: &'a mut Buffer,
        title: &str,
        (name, most, style): (&str, usize, Style),
    ) -> Self {
        let mut lines = Lines::new(area, buffer);
        lines.rule(title);
        for line in wrap(name, area.width as usize, most) {
            lines.line(&line, style);
        }
        lines
    }

    /// Writes one line, truncated to the width. `text` must be escaped.
    pub(crate) fn line(&mut self, text: &str, style: Style) {
        write(self.buffer, self.rest, text, style);
        self.rest = below(self.rest, 1);
    }

    /// Writes a rule with `text` at its left.
    pub(crate) fn rule(&mut self, text: &str) {
        let text = format!("── {text} ");
        let rest = (self.rest.width as usize).saturating_sub(width(&text));
        self.line(&format!("{text}{}", "─".repeat(rest)), theme::heading());
    }

    /// Writes the items one after another, as many per line as fit. Breaks an item that is longer
    /// than a line at spaces.
    pub(crate) fn flow(&mut self, items: &[String], style: Style) {
        let cells = usize::from(self.rest.width);
        let parts: Vec<String> = items
            .iter()
            .flat_map(|item| paragraph(item, cells, ""))
            .collect();
        self.spans(parts.iter().map(|part| [(part.as_str(), style)]));
    }

    /// Writes the items, each made of texts with styles, as many per line as fit.
    pub(crate) fn spans<'t, const N: usize>(
        &mut self,
        items: impl Iterator<Item = [(&'t str, Style); N]>,
    ) {
        let mut place = self.rest;
        for item in items {
            let cells: usize = item.iter().map(|(text, _)| width(text)).sum();
            let is_first = place.width == self.rest.width;
            if !is_first && cells > place.width.into() {
                self.rest = below(self.rest, 1);
                place = self.rest;
            }
            for (text, style) in item {
                write(self.buffer, place, text, style);
                place = right_of(place, u16::try_from(width(text)).unwrap_or(u16::MAX));
            }
            place = right_of(place, 2);
        }
        self.rest = below(self.rest, 1);
    }

    /// Writes a text, broken at spaces. `text` must be escaped.
    pub(crate) fn paragraph(&mut self, text: &str, style: Style) {
        for line in paragraph(text, self.rest.width.into(), "") {
            self.line(&line, style);
        }
    }
}

/// Formats bytes with their blocks: `live 1.5 KiB (3)`.
pub(crate) fn amount(name: &str, bytes: u64, blocks: Number) -> String {
    format!("{name} {} ({blocks})", Bytes(bytes))
}

/// Returns the ends between which the exact figure lies, if the figures are estimates:
/// `peak 1.1 .. 2.0 MiB (95 %)`.
pub(crate) fn interval(measure: Measure, figures: &Figures) -> Option<String> {
    let interval = measure.interval(figures).filter(|_| measure.is_bytes())?;
    let ends = measure.ends(interval);
    Some(format!("{} {ends} (95 %)", measure.name()))
}

/// Returns every figure of a row, with the interval of the measure if they are estimates.
/// Reallocations are included if there were any.
pub(crate) fn all_figures(measure: Measure, f: &Figures) -> Vec<String> {
    let mut items = vec![
        amount("peak", f.peak_bytes, f.number("peak_blocks")),
        amount("live", f.live_bytes, f.number("live_blocks")),
        amount("total", f.total_bytes, f.number("total_blocks")),
        amount("temporary", f.temporary_bytes, f.number("temporary_blocks")),
    ];
    if f.samples().is_some() {
        for item in &mut items {
            *item = item.replacen(' ', " ~", 1);
        }
    }
    items.extend(interval(measure, f));
    if f.grows > 0 || f.shrinks > 0 {
        let (grows, shrinks) = (f.number("grows"), f.number("shrinks"));
        items.push(format!("grows {grows}, shrinks {shrinks}"));
        items.push(format!("copied <={}", Bytes(f.most_copied_bytes())));
    }
    items
}
