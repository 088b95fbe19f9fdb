//! The search of a list or a tree: its regex, and what it found. A list shows only its matches. A
//! tree marks them, because the rows around a match say where it is.

use heapglass_profiler::units::{Count, Share, counted};

use super::{List, Matches};
use crate::model::{Command, Outcome, Pattern};

/// The regex of a list or tree, and what it found.
#[derive(Debug, Default)]
pub(crate) struct Search {
    pattern: Option<Pattern>,
    /// The matching nodes of a tree.
    pub(crate) matches: Matches,
    /// The number of rows of a list, matching or not.
    all: usize,
}

impl Search {
    pub(crate) fn pattern(&self) -> Option<&Pattern> {
        self.pattern.as_ref()
    }

    /// Replaces the regex. The caller then lists or marks the matches again.
    pub(crate) fn set(&mut self, pattern: Option<Pattern>) {
        self.pattern = pattern;
        self.matches = Matches::default();
    }

    /// Removes the regex. Returns `false` if there is none.
    pub(crate) fn end(&mut self) -> bool {
        let had_one = self.pattern.is_some();
        self.set(None);
        had_one
    }

    /// Removes the rows of a list that do not match.
    pub(crate) fn retain<T>(&mut self, rows: &mut Vec<T>, is_match: impl Fn(&Pattern, &T) -> bool) {
        self.all = rows.len();
        if let Some(pattern) = &self.pattern {
            rows.retain(|row| is_match(pattern, row));
        }
    }

    /// Finds the matches in a tree, and keeps the position among them.
    pub(crate) fn mark(&mut self, find: impl FnOnce(&Pattern) -> Matches) {
        let mut matches = self.pattern.as_ref().map(find).unwrap_or_default();
        matches.stay_at(&self.matches);
        self.matches = matches;
    }

    /// Handles the commands that go to the next and the previous match of a list, in which
    /// `is_match` tells matches from other rows. Returns `None` for other commands.
    pub(crate) fn step<T>(
        &self,
        list: &mut List<T>,
        command: Command,
        is_match: impl Fn(&T) -> bool,
    ) -> Option<Outcome> {
        let forward = direction(command)?;
        if self.pattern.is_none() {
            return Some(Outcome::no_search());
        }
        if !list.rows.iter().any(&is_match) {
            return Some(nothing_found());
        }
        list.step(forward);
        while !list.selected().is_some_and(&is_match) {
            list.step(forward);
        }
        Some(Outcome::Done)
    }

    /// Handles the same commands for a tree, in which `reveal` goes to a node. Returns `None` for
    /// other commands.
    pub(crate) fn step_node(
        &mut self,
        command: Command,
        reveal: impl FnOnce(u32),
    ) -> Option<Outcome> {
        let forward = direction(command)?;
        if self.pattern.is_none() {
            return Some(Outcome::no_search());
        }
        let Some(node) = self.matches.step(forward) else {
            return Some(nothing_found());
        };
        reveal(node);
        Some(Outcome::Done)
    }

    /// Describes the matches of a list, with their part of the whole: `/x/: 3 of 17 rows, 1.0 % of
    /// all`. `None` without a regex.
    pub(crate) fn found_rows(
        &self,
        matches: usize,
        noun: &str,
        part: impl FnOnce() -> String,
    ) -> Option<String> {
        let label = self.pattern.as_ref()?.label();
        let (matches, all) = (Count(matches as u64), counted(self.all as u64, noun));
        Some(format!("{label}: {matches} of {all}, {}", part()))
    }

    /// Describes the matches of a tree, with their share of `whole`, which `of` names: `/x/: 2 of 3
    /// fields (n N), 1.0 % of all`. `None` without a regex.
    pub(crate) fn found_nodes(&self, noun: &str, whole: u64, of: &str) -> Option<String> {
        let label = self.pattern.as_ref()?.label();
        let found = self.matches.position(noun);
        let share = Share::of(self.matches.value, whole);
        Some(format!("{label}: {found}, {share} of {of}"))
    }

    /// Returns the text of a list without rows: that nothing matches, or `otherwise` without a
    /// regex.
    pub(crate) fn empty(&self, otherwise: &str) -> String {
        match &self.pattern {
            Some(pattern) => format!("nothing matches {}; press Esc to show all", pattern.label()),
            None => otherwise.to_owned(),
        }
    }
}

fn direction(command: Command) -> Option<bool> {
    match command {
        Command::Next => Some(true),
        Command::Previous => Some(false),
        _ => None,
    }
}

fn nothing_found() -> Outcome {
    Outcome::notice("nothing found")
}
