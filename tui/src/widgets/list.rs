//! A list with a selection and a visible window.

use heapglass_profiler::units::Count;
use ratatui::layout::{Position, Rect};

use crate::model::Command;

/// The selection and the visible window of a list.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cursor {
    pub(crate) selected: usize,
    /// First row of the window.
    pub(crate) top: usize,
}

/// Rows with a selection.
#[derive(Clone, Debug)]
pub(crate) struct List<T> {
    pub(crate) rows: Vec<T>,
    pub(crate) cursor: Cursor,
    /// Number of visible rows.
    pub(crate) height: usize,
}

impl<T> Default for List<T> {
    fn default() -> Self {
        List {
            rows: Vec::new(),
            cursor: Cursor::default(),
            height: 0,
        }
    }
}

impl<T> List<T> {
    /// Returns a list without a selection whose window starts at row `top`.
    pub(crate) fn unselected(rows: Vec<T>, top: usize) -> List<T> {
        let selected = usize::MAX;
        let cursor = Cursor { selected, top };
        List {
            rows,
            cursor,
            ..List::default()
        }
    }

    /// Maps the rows, and leaves out those for which `f` returns `None`.
    pub(crate) fn filter_map<'a, U>(&'a self, f: impl FnMut(&'a T) -> Option<U>) -> List<U> {
        List {
            rows: self.rows.iter().filter_map(f).collect(),
            cursor: self.cursor,
            height: self.height,
        }
    }

    pub(crate) fn selected(&self) -> Option<&T> {
        self.rows.get(self.cursor.selected)
    }

    /// Handles a command that moves. Returns `false` for other commands.
    pub(crate) fn command(&mut self, command: Command) -> bool {
        let at = self.cursor.selected;
        let page = self.height.saturating_sub(1).max(1);
        let to = match command {
            Command::Up => at.saturating_sub(1),
            Command::Down => at + 1,
            Command::PageUp => at.saturating_sub(page),
            Command::PageDown => at.saturating_add(page),
            Command::First => 0,
            Command::Last => usize::MAX,
            _ => return false,
        };
        self.select(to);
        true
    }

    /// Keeps the selection inside the rows, and the window around the selection.
    pub(crate) fn clamp(&mut self) {
        let Cursor { selected, top } = &mut self.cursor;
        *selected = (*selected).min(self.rows.len().saturating_sub(1));
        let height = self.height.max(1);
        if *selected < *top {
            *top = *selected;
        } else if *selected >= *top + height {
            *top = *selected + 1 - height;
        }
        *top = (*top).min(self.rows.len().saturating_sub(height));
    }

    pub(crate) fn select(&mut self, at: usize) {
        self.cursor.selected = at;
        self.clamp();
    }

    /// Sets the number of visible rows.
    pub(crate) fn resize(&mut self, height: usize) {
        self.height = height;
        self.clamp();
    }

    /// Replaces the rows, unless they are not known yet. The old rows then stay, with the
    /// selection.
    pub(crate) fn replace_known<K: PartialEq>(
        &mut self,
        rows: Option<Vec<T>>,
        key: impl Fn(&T) -> K,
        keep_first: bool,
        height: usize,
    ) {
        match rows {
            Some(rows) => self.replace(rows, key, keep_first, height),
            None => self.resize(height),
        }
    }

    /// Replaces the rows. Keeps the row with the same key selected, else selects the first row. If
    /// the user never moved, selects the first row, unless `keep_first`.
    pub(crate) fn replace<K: PartialEq>(
        &mut self,
        rows: Vec<T>,
        key: impl Fn(&T) -> K,
        keep_first: bool,
        height: usize,
    ) {
        let is_kept = |_: &&T| keep_first || self.cursor.selected > 0;
        let kept = self.selected().filter(is_kept).map(&key);
        self.rows = rows;
        let at = kept.and_then(|kept| self.rows.iter().position(|row| key(row) == kept));
        self.height = height;
        self.select(at.unwrap_or(0));
    }

    /// Selects the row at a position in a table in `area`, which has a heading. Returns `true` if
    /// it was selected before; `None` if there is no row.
    pub(crate) fn select_at(&mut self, at: Position, area: Rect) -> Option<bool> {
        let line = at.y.checked_sub(area.y + 1).filter(|_| area.contains(at))?;
        let row = self.cursor.top + usize::from(line);
        let was_selected = row == self.cursor.selected;
        (row < self.rows.len()).then(|| self.select(row))?;
        Some(was_selected)
    }

    /// Selects the next or previous row, wrapping around.
    pub(crate) fn step(&mut self, forward: bool) {
        let rows = self.rows.len().max(1);
        let by = if forward { 1 } else { rows - 1 };
        self.select((self.cursor.selected + by) % rows);
    }

    /// Describes the position of the selection: `site 3 of 17`.
    pub(crate) fn place(&self, noun: &str) -> String {
        let (at, all) = (self.cursor.selected + 1, self.rows.len());
        format!("{noun} {} of {}", Count(at as u64), Count(all as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_follows_the_selection_and_never_leaves_the_list() {
        let mut list = List {
            rows: vec![(); 100],
            height: 10,
            ..List::default()
        };
        assert!(list.command(Command::Last));
        assert_eq!((list.cursor.selected, list.cursor.top), (99, 90));
        list.command(Command::PageUp);
        assert_eq!((list.cursor.selected, list.cursor.top), (90, 90));
        list.rows.truncate(5);
        list.clamp();
        assert_eq!((list.cursor.selected, list.cursor.top), (4, 0));
        assert!(!list.command(Command::Sort));
        list.rows.clear();
        list.resize(0);
        assert_eq!((list.cursor.selected, list.cursor.top), (0, 0));
    }

    #[test]
    fn a_row_stays_selected_by_its_key_and_the_first_row_by_its_place() {
        let mut list = List {
            rows: vec!["a", "b", "c"],
            ..List::default()
        };
        list.select(1);
        list.replace(vec!["b", "c", "a"], |row| *row, false, 10);
        assert_eq!(list.selected(), Some(&"b"));
        list.replace(vec!["a", "b"], |row| *row, false, 10);
        assert_eq!(list.selected(), Some(&"a"), "the first, whatever it is");
        list.replace(vec!["b", "a"], |row| *row, true, 10);
        assert_eq!(list.selected(), Some(&"a"));
        list.replace_known(None, |row| *row, true, 1);
        assert_eq!((list.selected(), list.height), (Some(&"a"), 1));
        list.replace_known(Some(vec!["b"]), |row| *row, true, 10);
        assert_eq!(list.place("row"), "row 1 of 1");
    }
}
