//! Frames in files: in the symbol cache, and in recordings that carry their symbols. The files are
//! JSON with each string once. They are parsed as hostile input.

use super::SourceFrame;
use super::names::{MOST_ALIASES, beginning};
use crate::interned::Interned;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The longest name that is kept whole, bytes. Every frame of a small file may refer to one name.
const LONGEST_NAME: usize = 4096;
/// The most frames at one address. Real programs nest a few dozen.
const MOST_INLINED: usize = 512;

/// A frame: numbers of strings, from 1, and 0 for none.
#[derive(Serialize, Deserialize)]
pub(crate) struct StoredFrame {
    function: u32,
    raw: u32,
    file: u32,
    line: u32,
    inlined: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    at_declaration: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    aliases: Vec<u32>,
}

impl StoredFrame {
    /// Source file and line, where both are known: the number of the file's name, and the line.
    pub(crate) fn place(&self) -> Option<(u32, u32)> {
        (self.file != 0 && self.line != 0).then_some((self.file, self.line))
    }
}

/// Strings while frames are written: each has a number.
#[derive(Default)]
pub(crate) struct Strings<'a>(Interned<&'a str>);

impl<'a> Strings<'a> {
    fn number(&mut self, text: Option<&'a Arc<str>>) -> u32 {
        text.map_or(0, |text| self.0.number(text).saturating_add(1))
    }

    /// The frames of one address, to be kept with [`into_values`](Strings::into_values).
    pub(crate) fn store(&mut self, frames: &'a [SourceFrame]) -> Vec<StoredFrame> {
        let store = |frame: &'a SourceFrame| {
            let aliases = frame.aliases.iter();
            StoredFrame {
                function: self.number(Some(&frame.function)),
                raw: self.number(frame.raw.as_ref()),
                file: self.number(frame.file.as_ref()),
                line: frame.line.unwrap_or(0),
                inlined: frame.inlined,
                at_declaration: frame.at_declaration,
                aliases: aliases.map(|alias| self.number(Some(alias))).collect(),
            }
        };
        frames.iter().map(store).collect()
    }

    /// All strings, by number less 1.
    pub(crate) fn into_values(self) -> Vec<String> {
        self.0.values.into_iter().map(str::to_owned).collect()
    }
}

/// Strings while frames are read: each is shared by all frames that have it.
pub(crate) struct Shared(Vec<Arc<str>>);

impl Shared {
    pub(crate) fn new(strings: &[String]) -> Self {
        Shared(strings.iter().map(|text| cut(text).into()).collect())
    }

    /// The frames of one address; what has no name is `?`.
    pub(crate) fn frames(&self, frames: &[StoredFrame]) -> Vec<SourceFrame> {
        let string = |number: u32| of_number(&self.0, number).cloned();
        let read = |frame: &StoredFrame| {
            let aliases = frame.aliases.iter().take(MOST_ALIASES);
            SourceFrame {
                function: string(frame.function).unwrap_or_else(|| "?".into()),
                raw: string(frame.raw),
                file: string(frame.file),
                line: (frame.line != 0).then_some(frame.line),
                inlined: frame.inlined,
                at_declaration: frame.at_declaration,
                aliases: aliases.filter_map(|alias| string(*alias)).collect(),
            }
        };
        frames.iter().take(MOST_INLINED).map(read).collect()
    }
}

/// The string of that number.
pub(crate) fn string_of(strings: &[String], number: u32) -> Option<&str> {
    of_number(strings, number).map(|text| cut(text))
}

fn of_number<T>(all: &[T], number: u32) -> Option<&T> {
    all.get((number as usize).checked_sub(1)?)
}

fn cut(text: &str) -> &str {
    beginning(text, LONGEST_NAME)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_between_letters() {
        assert_eq!(cut("short"), "short");
        assert_eq!(cut(&"a".repeat(LONGEST_NAME)).len(), LONGEST_NAME);
        assert_eq!(cut(&"a".repeat(LONGEST_NAME + 1)).len(), LONGEST_NAME);
        let letters = format!("a{}", "\u{e4}".repeat(LONGEST_NAME));
        assert_eq!(cut(&letters).len(), LONGEST_NAME - 1, "two bytes each");
    }

    #[test]
    fn frames_are_read_as_they_were_stored_and_numbers_of_nothing_are_none() {
        let frame = SourceFrame {
            function: "app::load".into(),
            raw: Some("_RNvC3app4load".into()),
            file: Some("/src/main.rs".into()),
            line: Some(7),
            inlined: true,
            at_declaration: true,
            aliases: vec!["app::save".into()],
        };
        let frames = [
            frame.clone(),
            SourceFrame {
                raw: None,
                file: None,
                line: None,
                ..frame
            },
        ];
        let mut strings = Strings::default();
        let stored = strings.store(&frames);
        let values = strings.into_values();
        assert_eq!(values.len(), 4);
        assert_eq!(Shared::new(&values).frames(&stored), frames);
        let hostile = StoredFrame {
            function: 9,
            raw: u32::MAX,
            file: 5,
            line: 1,
            inlined: false,
            at_declaration: false,
            aliases: vec![0, 6, 1],
        };
        let read = Shared::new(&values).frames(&[hostile]);
        assert_eq!(
            (&*read[0].function, &read[0].raw, &read[0].file),
            ("?", &None, &None)
        );
        assert_eq!(read[0].aliases, [Arc::from("app::load")]);
    }
}
