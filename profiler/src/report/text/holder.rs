//! Rows by holder as a tree: each holder below the one that holds it, the largest first.
//!
//! A holder that holds almost nothing itself and holds one other stands in one line with it. The
//! figures of a line are those of its first holder; its own bytes are those of all of them.

use std::collections::HashMap;

use unicode_width::UnicodeWidthStr;

use super::Page;
use super::held::{BOUND, NEIGHBOURS, RETAINED, UNUSED, write_neighbours};
use crate::report::Style;
use crate::table::{
    HeldFigures, HolderRow, HolderRowName, NOT_REACHED, NOT_SEEN, SEVERAL, SHARE_WIDTH, SMALL,
    SnapshotAt, held_columns, preorder, shortened_types, weighty, without_arguments,
};
use crate::units::{counted, printable};

/// Holders that are named of blocks with several.
const MOST_SEVERAL: usize = 3;

/// Lines that are shown if nobody says how many.
pub(super) const DEFAULT_TOP: usize = 20;

/// A holder that holds less than one part in this many itself only passes on.
const PASSES_ON: u64 = 100;

/// Names of holders need at least this many columns.
const NAME_WIDTH: usize = 42;

/// Holders in one line, outermost first.
struct Line {
    rows: Vec<usize>,
    parent: Option<usize>,
    held: HeldFigures,
}

pub(super) fn write(page: &mut Page<'_>, at: SnapshotAt<'_>, rows: &[HolderRow]) {
    let measure = page.options.measure;
    let lines = lines(rows);
    let weights: Vec<u64> = lines
        .iter()
        .map(|line| line.held.of(measure).unwrap_or(0))
        .collect();
    let parents: Vec<Option<usize>> = lines.iter().map(|line| line.parent).collect();
    let top = page.options.top.unwrap_or(DEFAULT_TOP);
    let most = weighty(&weights);
    let places = preorder(&parents, &weights, top.min(most));
    page.line(Style::Heading, &format!("Holders by {}", measure.title()));
    if places.is_empty() {
        page.plain("  (none)");
    }
    let room = page.width.saturating_sub(NAME_WIDTH + 2);
    let columns = held_columns(measure, at.whole(measure), |line: &Line| &line.held, room);
    page.head(&columns, "holder");
    let used = columns
        .iter()
        .map(|column| column.heading.width() + 1)
        .sum();
    let names = places.iter().map(|&(number, depth)| {
        let room = page.room(used, depth);
        (Name::of(rows, &lines[number]), room)
    });
    let names = fitting(names.collect());
    let mut several = None;
    for (&(number, depth), name) in places.iter().zip(&names) {
        let line = &lines[number];
        let used = page.figures(&columns, line);
        page.place(used, depth, name);
        write_several(page, rows, line, &mut several);
        write_neighbours(page, &line.held);
    }
    if most > places.len() {
        let rest = (most - places.len()) as u64;
        let more = format!("  ... {} (--top {top})", counted(rest, "more holder"));
        page.line(Style::Faint, &more);
    }
    page.blank();
    page.wrap(Style::Faint, "  ", RETAINED);
    if lines.iter().any(|line| line.held.retained_is_bound()) {
        page.wrap(Style::Faint, "  ", BOUND);
    }
    page.wrap(Style::Faint, "  ", UNUSED);
    if page.options.explain {
        page.wrap(Style::Faint, "  ", NEIGHBOURS);
    }
    let mut shown: Vec<&HolderRowName> = places
        .iter()
        .flat_map(|&(line, _)| &lines[line].rows)
        .map(|&row| &rows[row].name)
        .collect();
    shown.dedup();
    for (name, why) in EXPLAINED {
        if shown.iter().any(|shown| is_called(shown, name)) {
            page.wrap(Style::Faint, "  ", &format!("{name}: {why}"));
        }
    }
}

/// Writes what holds the blocks of a line if it is several holders: the first three, or with
/// `explain` all. `before` is what was written last.
fn write_several(
    page: &mut Page<'_>,
    rows: &[HolderRow],
    line: &Line,
    before: &mut Option<String>,
) {
    let Some(row) = line.rows.first().map(|&row| &rows[row]) else {
        return;
    };
    // The row above says the same if this one is alone there.
    let above = row.parent.and_then(|above| rows.get(above));
    if above.is_some_and(|above| above.held_by == row.held_by) {
        return;
    }
    let most = if page.options.explain {
        usize::MAX
    } else {
        MOST_SEVERAL
    };
    if let Some(by) = row.several(rows, most) {
        let text = format!("held by {}", printable(&by));
        let is_same = before.as_ref() == Some(&text);
        let shown = if is_same { "held by the same" } else { &text };
        page.wrap(Style::Faint, &" ".repeat(SHARE_WIDTH + 1), shown);
        *before = Some(text);
    }
}

/// Rows that need an explanation.
const EXPLAINED: [(&str, &str); 4] = [
    (
        SEVERAL,
        "blocks that two holders or more keep alive, such as a shared Rc; no single one of them does.",
    ),
    (
        NOT_SEEN,
        "blocks that only pointers without ownership reach, such as references and hidden or packed pointers.",
    ),
    (
        NOT_REACHED,
        "no pointer to these blocks was found. This does not make them a leak: they may have been in the middle \
         of a move, and pointers may be hidden.",
    ),
    (
        SMALL,
        "holders with few bytes, which a snapshot does not keep apart.",
    ),
];

fn is_called(name: &HolderRowName, wanted: &str) -> bool {
    match name {
        HolderRowName::Root(name) => name == wanted,
        HolderRowName::Small => wanted == SMALL,
        _ => false,
    }
}

/// Puts holders that only pass on into one line with what they hold.
fn lines(rows: &[HolderRow]) -> Vec<Line> {
    let mut children = vec![0_usize; rows.len()];
    for parent in rows.iter().filter_map(|row| row.parent) {
        children[parent] += 1;
    }
    let passes_on = |row: usize| {
        let is_root = matches!(rows[row].name, HolderRowName::Root(_));
        let held = &rows[row].held;
        !is_root && children[row] == 1 && held.own.bytes < held.retained_bytes / PASSES_ON
    };
    let mut lines: Vec<Line> = Vec::new();
    let mut line_of: Vec<usize> = Vec::with_capacity(rows.len());
    for (number, row) in rows.iter().enumerate() {
        match row.parent {
            Some(parent) if passes_on(parent) => {
                let at = line_of[parent];
                let line = &mut lines[at];
                line.rows.push(number);
                line.held.own.add(&row.held.own);
                line_of.push(at);
            }
            parent => {
                line_of.push(lines.len());
                lines.push(Line {
                    rows: vec![number],
                    parent: parent.map(|parent| line_of[parent]),
                    held: row.held.clone(),
                });
            }
        }
    }
    lines
}

/// The texts of lines, each in its room. Where lines with different holders would read the same,
/// the last holder keeps what tells them apart.
fn fitting(names: Vec<(Name, usize)>) -> Vec<String> {
    let mut same: HashMap<(String, usize), Vec<usize>> = HashMap::new();
    let chains: Vec<Vec<String>> = names.iter().map(|(name, _)| name.chain.clone()).collect();
    let mut texts: Vec<(String, usize)> = names
        .into_iter()
        .map(|(name, room)| (name.fitting(room), room))
        .collect();
    for (at, text) in texts.iter().enumerate() {
        same.entry(text.clone()).or_default().push(at);
    }
    for ((_, room), lines) in same {
        if lines.iter().all(|&line| chains[line] == chains[lines[0]]) {
            continue;
        }
        let last = |line: &usize| chains[*line].last().map_or("", String::as_str);
        let ends: Vec<&str> = lines.iter().map(last).collect();
        let ends = shortened_types(&ends, room.saturating_sub(BEFORE.len()));
        for (line, end) in lines.iter().zip(ends) {
            let is_chain = chains[*line].len() > 1;
            let before = if is_chain { BEFORE } else { "" };
            texts[*line].0 = format!("{before}{end}");
        }
    }
    texts.into_iter().map(|(text, _)| text).collect()
}

/// Stands for the holders in front of the last one.
const BEFORE: &str = ".. > ";

/// The text of a line about its holders, free of control characters.
struct Name {
    /// The holders.
    chain: Vec<String>,
    /// The other facts about the last one, the least important last.
    details: Vec<String>,
}

impl Name {
    fn of(rows: &[HolderRow], line: &Line) -> Name {
        let name = |&row: &usize| {
            let holder = rows[row].parent.map(|parent| &rows[parent].name);
            printable(&rows[row].name.below(holder)).into_owned()
        };
        let mut chain: Vec<String> = Vec::new();
        for piece in line.rows.iter().map(name) {
            // Steps of one place are one word: `Catalog.products[]`.
            match chain.last_mut() {
                Some(last) if piece.starts_with(['.', '[', '{']) => last.push_str(&piece),
                _ => chain.push(piece),
            }
        }
        let last = line.rows.last().map(|&row| &rows[row].name);
        let details = match last {
            Some(HolderRowName::Place { type_key, .. }) => Vec::from_iter(type_key.clone()),
            Some(HolderRowName::Site(label)) => {
                let mut details = Vec::new();
                // Without a type, the owner is the name.
                if !label.what.is_empty() {
                    details.push(label.owner.clone());
                }
                details.extend(label.source.clone());
                details.push(label.location.clone());
                details
            }
            _ => Vec::new(),
        };
        let details = details.iter().filter(|detail| !detail.is_empty());
        Name {
            chain,
            details: details
                .map(|detail| printable(detail).into_owned())
                .collect(),
        }
    }

    /// The text in at most `room` columns, if leaving out details, holders in the middle and
    /// arguments of types is enough for that.
    fn fitting(mut self, room: usize) -> String {
        while !self.details.is_empty() {
            let text = self.text();
            if text.width() <= room {
                return text;
            }
            self.details.pop();
        }
        let whole = self.text();
        if whole.width() <= room {
            return whole;
        }
        // The last holder keeps as much as the others leave.
        let mut short: Vec<String> = self
            .chain
            .iter()
            .map(|name| without_arguments(name, 16))
            .collect();
        if let (Some(last), Some(name)) = (short.pop(), self.chain.last()) {
            let others: usize = short.iter().map(|name| name.width() + 3).sum();
            let left = room.saturating_sub(others).max(last.width());
            short.push(without_arguments(name, left));
        }
        let shorter = [
            short.join(" > "),
            match short.as_slice() {
                [first, _, .., last] => format!("{first} > .. > {last}"),
                _ => short.join(" > "),
            },
            match short.as_slice() {
                [_, .., last] => format!(".. > {last}"),
                [one] => without_arguments(one, room),
                [] => String::new(),
            },
        ];
        let fitting = shorter.iter().find(|text| text.width() <= room);
        let text = fitting.unwrap_or(&shorter[2]);
        // Of a long place, the end says most.
        match text.strip_prefix(".. > ").unwrap_or(text) {
            _ if text.width() <= room => text.clone(),
            place => end_of(place, room),
        }
    }

    fn text(&self) -> String {
        let chain = self.chain.join(" > ");
        let parts = std::iter::once(&chain).chain(&self.details);
        parts.map(String::as_str).collect::<Vec<_>>().join("  ")
    }
}

/// The last steps of a place that fit: `..attributes{}.name`.
fn end_of(place: &str, room: usize) -> String {
    let steps = place.char_indices().filter(|(_, c)| matches!(c, '.' | '['));
    let mut ends = steps.map(|(at, _)| &place[at..]);
    let end = ends.find(|end| end.width() + 2 <= room);
    end.map_or_else(|| place.to_owned(), |end| format!("..{end}"))
}
