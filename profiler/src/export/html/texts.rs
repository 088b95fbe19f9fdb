//! The texts of a page: each once, so that names that many frames and rows share take no space.

use std::borrow::Cow;

use crate::units::printable;
use heapglass_profile::internal::Interned;

/// Longer texts are cut, in characters.
const LONGEST: usize = 2_000;

/// Distinct texts, numbered.
#[derive(Default)]
pub(super) struct Texts {
    texts: Interned<String>,
    /// Number of texts that were cut.
    pub(super) cut: usize,
    bytes: usize,
}

impl Texts {
    /// Returns the number of a text, after replacing what must not reach a page.
    pub(super) fn number(&mut self, text: &str) -> u32 {
        let mut text = printable(text);
        if let Some((end, _)) = text.char_indices().nth(LONGEST) {
            text = Cow::Owned(format!("{}..", &text[..end]));
        }
        let before = self.texts.values.len();
        let number = self.texts.number_of(text.as_ref());
        if self.texts.values.len() > before {
            // Quotation marks and the comma.
            self.bytes += text.len() + 3;
            self.cut += usize::from(text.ends_with("..") && text.chars().count() > LONGEST);
        }
        number
    }

    /// Returns the number of bytes that the texts take in JSON, without escapes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns all texts, in the order of their numbers.
    pub(super) fn into_values(self) -> Vec<String> {
        self.texts.values
    }
}
