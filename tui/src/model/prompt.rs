//! The one-line editor for regexes, and the regexes. An invalid regex is shown in the prompt, and
//! is never an error of the program.

use regex::{Regex, RegexBuilder};

use super::command::Edit;
use crate::text::clean;

/// A valid regex with its source text.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    pub(crate) text: String,
    regex: Regex,
}

impl Pattern {
    /// Compiles `text`. Ignores case unless the text has capitals.
    pub(crate) fn new(text: &str) -> Result<Self, String> {
        let regex = RegexBuilder::new(text)
            .case_insensitive(!text.chars().any(char::is_uppercase))
            .size_limit(1 << 20)
            .build()
            .map_err(|error| last_line(&error.to_string()))?;
        Ok(Pattern {
            text: text.to_owned(),
            regex,
        })
    }

    pub(crate) fn is_match(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }

    /// Returns the text to show: between slashes, escaped.
    pub(crate) fn label(&self) -> String {
        format!("/{}/", clean(&self.text))
    }
}

/// Returns the last line of a regex error, which has the message. The lines before draw its
/// position.
fn last_line(error: &str) -> String {
    let line = error
        .lines()
        .map(str::trim)
        .rfind(|line| !line.is_empty())
        .unwrap_or("not a regex");
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}

/// The open prompt.
#[derive(Clone, Debug)]
pub(crate) struct Prompt {
    /// The purpose of the prompt: `search`, `filter`.
    pub(crate) label: &'static str,
    text: Vec<char>,
    cursor: usize,
    /// The pattern to restore on Esc.
    pub(crate) before: Option<Pattern>,
    /// The reason why the current text is not a valid regex.
    pub(crate) error: Option<String>,
}

/// Maximum length of a regex, so that a paste cannot grow without bound.
const LONGEST: usize = 1_000;

impl Prompt {
    pub(crate) fn new(label: &'static str, before: Option<Pattern>) -> Self {
        let text: Vec<char> = before.iter().flat_map(|p| p.text.chars()).collect();
        Prompt {
            label,
            cursor: text.len(),
            text,
            before,
            error: None,
        }
    }

    pub(crate) fn text(&self) -> String {
        self.text.iter().collect()
    }

    /// Returns the text left of the cursor.
    pub(crate) fn before_cursor(&self) -> String {
        self.text.iter().take(self.cursor).collect()
    }

    pub(crate) fn insert(&mut self, c: char) {
        if self.text.len() < LONGEST && !c.is_control() {
            self.text.insert(self.cursor, c);
            self.cursor += 1;
        }
    }

    /// Applies an edit that keeps the prompt open.
    pub(crate) fn edit(&mut self, edit: Edit) {
        match edit {
            Edit::Accept | Edit::Cancel => {}
            Edit::DeleteBack => {
                if self.cursor > 0 {
                    self.cursor -= 1;
                    self.text.remove(self.cursor);
                }
            }
            Edit::DeleteForward => {
                if self.cursor < self.text.len() {
                    self.text.remove(self.cursor);
                }
            }
            Edit::DeleteWord => {
                let spaces = self.count_back(self.cursor, |c| c.is_whitespace());
                let word = self.count_back(self.cursor - spaces, |c| !c.is_whitespace());
                let start = self.cursor - spaces - word;
                self.text.drain(start..self.cursor);
                self.cursor = start;
            }
            Edit::Clear => {
                self.text.clear();
                self.cursor = 0;
            }
            Edit::Left => self.cursor = self.cursor.saturating_sub(1),
            Edit::Right => self.cursor = (self.cursor + 1).min(self.text.len()),
            Edit::Home => self.cursor = 0,
            Edit::End => self.cursor = self.text.len(),
        }
    }

    fn count_back(&self, from: usize, wanted: impl Fn(char) -> bool) -> usize {
        self.text
            .iter()
            .take(from)
            .rev()
            .take_while(|c| wanted(**c))
            .count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(text: &str) -> Prompt {
        let mut prompt = Prompt::new("search", None);
        text.chars().for_each(|c| prompt.insert(c));
        prompt
    }

    #[test]
    fn editing_works_at_the_cursor() {
        let mut prompt = typed("serde json");
        prompt.edit(Edit::DeleteWord);
        assert_eq!(prompt.text(), "serde ");
        prompt.edit(Edit::DeleteWord);
        assert_eq!(prompt.text(), "");
        let mut prompt = typed("abc");
        prompt.edit(Edit::Left);
        prompt.edit(Edit::DeleteBack);
        prompt.insert('é');
        assert_eq!(
            (prompt.text().as_str(), prompt.before_cursor().as_str()),
            ("aéc", "aé")
        );
        prompt.edit(Edit::Home);
        prompt.edit(Edit::DeleteBack);
        prompt.edit(Edit::DeleteForward);
        assert_eq!(prompt.text(), "éc");
    }

    #[test]
    fn a_bad_regex_is_explained_in_one_line() {
        let error = Pattern::new("(a").expect_err("unclosed group");
        assert_eq!(error, "unclosed group");
    }

    #[test]
    fn capitals_make_a_search_exact() {
        assert!(Pattern::new("vec").expect("regex").is_match("Vec::push"));
        assert!(!Pattern::new("VEC").expect("regex").is_match("Vec::push"));
    }

    #[test]
    fn a_hostile_regex_is_refused_and_does_not_fill_memory() {
        assert!(Pattern::new("(((a{1000}){1000}){1000})").is_err());
    }
}
