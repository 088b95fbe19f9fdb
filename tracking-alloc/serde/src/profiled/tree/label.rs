//! The label of a place under its parent, and the keys for its look-up.

use heapglass_recorder::leaked;
use std::fmt::{self, Display, Write};
use tracking_alloc_recording::{scope_flags, scope_kind};

/// Maximum length of a name in bytes. Longer names are truncated.
const MOST_NAME: usize = 256;

/// A step from a place to one below it.
#[derive(Clone, Copy)]
pub(in super::super) enum Step<'a> {
    /// The only step of its kind, a value of [`scope_kind`].
    Single(u32),
    /// A field, by its name in the list of its type, and its index there.
    Field(&'static str, usize),
    /// A field by a name that lies in a buffer, with its [key](Step::buffered_field).
    BufferedField(&'a str, usize),
    /// A variant, by its name in the list of its type, and its index there.
    Variant(&'static str, usize),
    /// An element of a tuple or struct by index, with its name if the names are in the order of the
    /// elements.
    Index(usize, Option<&'static str>),
    /// A variant known only by its index.
    VariantIndex(usize),
}

/// The label of a place. It is never freed, and replaced as a whole.
pub(in super::super) struct Label {
    /// A value of [`scope_kind`].
    pub(in super::super) kind: u32,
    pub(in super::super) flags: u32,
    /// The name. It is empty for kinds without one.
    pub(in super::super) name: &'static str,
    /// The name if the names are in the order of elements, as long as that is unknown.
    pub(in super::super) guess: &'static str,
    pub(in super::super) index: usize,
}

impl Label {
    pub(super) const NONE: Label = Label {
        kind: scope_kind::OTHER,
        flags: 0,
        name: "",
        guess: "",
        index: 0,
    };

    /// Leaks the label of a step.
    pub(super) fn of(step: &Step<'_>) -> Option<&'static Label> {
        let text;
        let mut label = Label {
            kind: step.kind(),
            ..Label::NONE
        };
        let name = match *step {
            Step::Field(name, _) | Step::BufferedField(name, _) | Step::Variant(name, _) => name,
            Step::Index(index, guess) => {
                label.index = index;
                label.guess = guess.unwrap_or_default();
                text = match guess {
                    Some(guess) => Text::of(format_args!("{index} ({guess}?)")),
                    None => Text::of(index),
                };
                text.as_str()
            }
            Step::VariantIndex(index) => {
                text = Text::of(format_args!("#{index}"));
                text.as_str()
            }
            Step::Single(_) => "",
        };
        let short = cut(name, MOST_NAME);
        if short.len() < name.len() {
            label.flags = scope_flags::CUT_NAME;
        }
        label.name = leaked::leak_str(short)?;
        leaked::leak(label)
    }

    /// Returns `true` if it is the label of a step.
    pub(super) fn is(&self, step: &Step<'_>) -> bool {
        if self.kind != step.kind() {
            return false;
        }
        match *step {
            Step::Field(name, _) | Step::BufferedField(name, _) | Step::Variant(name, _) => {
                self.name == cut(name, MOST_NAME)
            }
            // Without a guess, the index alone identifies the element, whatever its name.
            Step::Index(index, guess) => {
                self.index == index
                    && (self.guess.is_empty() || self.guess == guess.unwrap_or_default())
            }
            Step::VariantIndex(index) => self.name == Text::of(format_args!("#{index}")).as_str(),
            Step::Single(_) => true,
        }
    }
}

impl<'a> Step<'a> {
    /// Creates a step with a key made from the content. No address is that large.
    pub(in super::super) fn buffered_field(name: &'a str) -> Step<'a> {
        let hash = heapglass_recorder::hash::fnv1a(0, name.bytes()) as usize;
        Step::BufferedField(name, hash >> 2 | 1 << (usize::BITS - 2))
    }

    /// Returns the value by which steps are compared: the address of a name, otherwise a small
    /// number, above the kinds if the step has an index.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn key(&self) -> usize {
        match *self {
            Step::Field(name, _) => name.as_ptr() as usize,
            Step::Variant(name, _) => !(name.as_ptr() as usize),
            Step::BufferedField(_, key) => key,
            // No address is that small.
            Step::Index(index, _) => index_key(index),
            Step::VariantIndex(index) => !index_key(index),
            Step::Single(kind) => kind as usize,
        }
    }

    /// Returns the usual position of its place among the children.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn hint(&self) -> usize {
        match *self {
            Step::Field(_, index) | Step::Variant(_, index) => index,
            Step::Index(index, _) | Step::VariantIndex(index) => index,
            Step::BufferedField(_, key) => key % 61,
            // Elements, keys and values have the first, second and third position.
            Step::Single(kind) => kind.wrapping_sub(scope_kind::ELEMENT) as usize,
        }
    }

    fn kind(&self) -> u32 {
        match *self {
            Step::Single(kind) => kind,
            Step::Field(..) | Step::BufferedField(..) => scope_kind::FIELD,
            Step::Variant(..) | Step::VariantIndex(_) => scope_kind::VARIANT,
            Step::Index(..) => scope_kind::INDEX,
        }
    }
}

#[cfg_attr(not(debug_assertions), inline(always))]
fn index_key(index: usize) -> usize {
    16 + index.min(4000)
}

/// Returns at most `most` bytes of a text, in whole characters.
fn cut(text: &str, most: usize) -> &str {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or("")
}

/// A short text on the stack. The part that does not fit is dropped.
#[derive(Clone, Copy)]
pub(in super::super) struct Text {
    bytes: [u8; MOST_NAME + 32],
    len: usize,
}

impl Text {
    pub(in super::super) const EMPTY: Text = Text {
        bytes: [0; MOST_NAME + 32],
        len: 0,
    };

    pub(in super::super) fn of(shown: impl Display) -> Text {
        let mut text = Text::EMPTY;
        let _ = write!(text, "{shown}");
        text
    }

    /// Replaces the text.
    pub(in super::super) fn set(&mut self, text: &str) {
        self.len = 0;
        let _ = self.write_str(text);
    }

    pub(in super::super) fn as_str(&self) -> &str {
        let bytes = self.bytes.get(..self.len).unwrap_or_default();
        std::str::from_utf8(bytes).unwrap_or("")
    }
}

impl Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let short = cut(text, self.bytes.len() - self.len);
        let end = self.len + short.len();
        if let Some(place) = self.bytes.get_mut(self.len..end) {
            place.copy_from_slice(short.as_bytes());
            self.len = end;
        }
        Ok(())
    }
}
