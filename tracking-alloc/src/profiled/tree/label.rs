//! What a place is called under its parent, and the keys by which it is looked for.

use super::memory;
use tracking_alloc_recording::{scope_flags, scope_kind};

/// Longer names are cut, bytes.
const MOST_NAME: usize = 256;

/// A step from a place to one below it.
#[derive(Clone, Copy)]
pub(in super::super) enum Step<'a> {
    Root,
    Field(&'a str),
    Element,
    Key,
    Value,
    Variant(&'a str),
    /// The third element, say, and what it is called if the names are in the order of the elements.
    Index(usize, Option<&'static str>),
    /// A variant known by its index only.
    VariantIndex(usize),
    Buffered,
    FromBuffer,
    Other,
}

/// Keys of steps, for comparing: addresses of names, small numbers for the others.
pub(in super::super) mod key {
    /// `[]`
    pub(in super::super::super) const ELEMENT: usize = 1;
    /// `{key}`
    pub(in super::super::super) const KEY: usize = 2;
    /// `{value}`
    pub(in super::super::super) const VALUE: usize = 3;

    /// A field, by its name in the list its type gives.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(in super::super::super) fn field(name: &'static str) -> usize {
        name.as_ptr() as usize
    }

    /// A variant, likewise.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(in super::super::super) fn variant(name: &'static str) -> usize {
        !(name.as_ptr() as usize)
    }

    /// An index. No address is that small.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(in super::super::super) fn index(index: usize) -> usize {
        16 + index.min(4000)
    }

    /// A name that lies in a buffer: by its content. No address is that large.
    pub(in super::super::super) fn content(name: &str) -> usize {
        crate::hash::fnv1a(0, name.bytes()) as usize >> 2 | 1 << (usize::BITS - 2)
    }
}

/// What a place is called: kept for good, replaced as a whole.
pub(in super::super) struct Label {
    /// A value of [`scope_kind`].
    pub(in super::super) kind: u32,
    pub(in super::super) flags: u32,
    /// Empty for kinds without one.
    pub(in super::super) name: &'static str,
    /// The name it has if the order of names is the order of elements, while that is not known.
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

    /// Keeps the label of a step.
    pub(super) fn of(step: &Step<'_>) -> Option<&'static Label> {
        let mut label = Label {
            kind: step.kind(),
            ..Label::NONE
        };
        match *step {
            Step::Field(name) | Step::Variant(name) => {
                (label.name, label.flags) = kept(name)?;
            }
            Step::Index(index, guess) => {
                label.index = index;
                label.guess = guess.unwrap_or_default();
                (label.name, label.flags) = match guess {
                    Some(guess) => kept(
                        Text::new()
                            .number(index)
                            .add(" (")
                            .add(guess)
                            .add("?)")
                            .get(),
                    )?,
                    None => kept(Text::new().number(index).get())?,
                };
            }
            Step::VariantIndex(index) => {
                (label.name, label.flags) = kept(Text::new().add("#").number(index).get())?;
            }
            _ => {}
        }
        memory::keep(label)
    }

    /// Whether it is the label of a step.
    pub(super) fn is(&self, step: &Step<'_>) -> bool {
        if self.kind != step.kind() {
            return false;
        }
        match *step {
            Step::Field(name) | Step::Variant(name) => self.name == cut(name, MOST_NAME),
            // Without a guess it is that element, whatever its name.
            Step::Index(index, guess) => {
                self.index == index
                    && (self.guess.is_empty() || self.guess == guess.unwrap_or_default())
            }
            Step::VariantIndex(index) => self.name == Text::new().add("#").number(index).get(),
            _ => true,
        }
    }
}

impl Step<'_> {
    fn kind(&self) -> u32 {
        match self {
            Step::Root => scope_kind::ROOT,
            Step::Field(_) => scope_kind::FIELD,
            Step::Element => scope_kind::ELEMENT,
            Step::Key => scope_kind::KEY,
            Step::Value => scope_kind::VALUE,
            Step::Variant(_) | Step::VariantIndex(_) => scope_kind::VARIANT,
            Step::Index(..) => scope_kind::INDEX,
            Step::Buffered => scope_kind::BUFFERED,
            Step::FromBuffer => scope_kind::FROM_BUFFER,
            Step::Other => scope_kind::OTHER,
        }
    }
}

fn kept(name: &str) -> Option<(&'static str, u32)> {
    let short = cut(name, MOST_NAME);
    let flags = if short.len() < name.len() {
        scope_flags::CUT_NAME
    } else {
        0
    };
    Some((memory::keep_str(short)?, flags))
}

/// At most `most` bytes of a text, whole characters.
pub(in super::super) fn cut(text: &str, most: usize) -> &str {
    text.get(..text.floor_char_boundary_at(most)).unwrap_or("")
}

trait Boundary {
    fn floor_char_boundary_at(&self, most: usize) -> usize;
}

impl Boundary for str {
    fn floor_char_boundary_at(&self, most: usize) -> usize {
        if self.len() <= most {
            return self.len();
        }
        (0..=most)
            .rev()
            .find(|at| self.is_char_boundary(*at))
            .unwrap_or(0)
    }
}

/// A short text on the stack: what does not fit is left out.
struct Text {
    bytes: [u8; MOST_NAME + 32],
    len: usize,
}

impl Text {
    fn new() -> Text {
        Text {
            bytes: [0; MOST_NAME + 32],
            len: 0,
        }
    }

    fn add(mut self, text: &str) -> Text {
        let text = cut(text, (MOST_NAME + 32 - self.len).saturating_sub(8));
        if let Some(place) = self.bytes.get_mut(self.len..self.len + text.len()) {
            place.copy_from_slice(text.as_bytes());
            self.len += text.len();
        }
        self
    }

    fn number(self, number: usize) -> Text {
        let mut digits = [0u8; 20];
        let (mut start, mut rest) = (digits.len(), number);
        loop {
            start -= 1;
            digits[start] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        self.add(std::str::from_utf8(&digits[start..]).unwrap_or(""))
    }

    fn get(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.len]).unwrap_or("")
    }
}
