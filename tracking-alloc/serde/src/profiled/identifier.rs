//! Notes names of fields and variants as they pass unchanged from the format to the type.

use super::forward::{deserialize, visit, visit_access};
use super::tree::Text;
use serde::de::{DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, SeqAccess, Visitor};
use std::cell::{Cell, RefCell};
use std::fmt;

/// The result of reading an identifier.
#[derive(Clone, Copy)]
pub(super) enum Named {
    /// One of the names that the type gave.
    Name(usize),
    /// A number.
    Index(usize),
    /// A name that was kept for the value that follows.
    Kept,
    Unknown,
}

/// The place to note the result.
pub(super) struct Capture {
    /// The names that the type gives. `None` if it gives none, and names are kept for later.
    names: Option<&'static [&'static str]>,
    /// The index of the expected name.
    next: usize,
    named: Cell<Named>,
}

impl Capture {
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn new(names: Option<&'static [&'static str]>, next: usize) -> Capture {
        Capture {
            names,
            next,
            named: Cell::new(Named::Unknown),
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn named(&self) -> Named {
        self.named.get()
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn text(&self, text: &str) {
        self.named.set(match self.names {
            None => keep_name(text),
            Some(names) => match names.get(self.next) {
                Some(name) if is_same(name, text) => Named::Name(self.next),
                _ => search(names, text),
            },
        });
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn bytes(&self, bytes: &[u8]) {
        if let Ok(text) = std::str::from_utf8(bytes) {
            self.text(text);
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn number(&self, number: u64) {
        self.named.set(Named::Index(number as usize));
    }
}

/// Searches all names, after the expected one did not match.
#[inline(never)]
fn search(names: &[&str], text: &str) -> Named {
    let index = names.iter().position(|name| *name == text);
    index.map_or(Named::Unknown, Named::Name)
}

/// Returns `true` if texts are equal.
///
/// PERF: names are short, and a call costs more than a few comparisons of overlapping words.
#[cfg_attr(not(debug_assertions), inline(always))]
fn is_same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let length = one.len();
    length == other.len()
        && match length {
            0 => true,
            1..4 => [0, length / 2, length - 1]
                .iter()
                .all(|at| one.get(*at) == other.get(*at)),
            4..8 => {
                one.first_chunk::<4>() == other.first_chunk()
                    && one.last_chunk::<4>() == other.last_chunk()
            }
            8..=16 => {
                one.first_chunk::<8>() == other.first_chunk()
                    && one.last_chunk::<8>() == other.last_chunk()
            }
            _ => one == other,
        }
}

thread_local! {
    /// The name kept between reading a key and reading its value.
    static KEPT: RefCell<Text> = const { RefCell::new(Text::EMPTY) };
}

/// Keeps a name. More bytes are kept than are shown, so that a truncated name can be marked.
fn keep_name(name: &str) -> Named {
    let _ = KEPT.try_with(|kept| {
        if let Ok(mut kept) = kept.try_borrow_mut() {
            kept.set(name);
        }
    });
    Named::Kept
}

/// Returns the kept name.
pub(super) fn kept_name() -> Text {
    let kept = KEPT.try_with(|kept| kept.try_borrow().map_or(Text::EMPTY, |kept| *kept));
    kept.unwrap_or(Text::EMPTY)
}

/// A seed, deserializer or visitor whose identifier is noted.
pub(super) struct Identifier<'a, T> {
    pub(super) inner: T,
    pub(super) capture: &'a Capture,
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Identifier<'_, S> {
    type Value = S::Value;

    #[inline]
    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<S::Value, D::Error> {
        self.inner.deserialize(Identifier {
            inner: d,
            capture: self.capture,
        })
    }
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Identifier<'_, D> {
    type Error = D::Error;

    deserialize! {
        self, visitor => self.inner, Identifier { inner: visitor, capture: self.capture };
        deserialize_identifier() deserialize_str() deserialize_string() deserialize_bytes() deserialize_byte_buf()
        deserialize_any() deserialize_u8() deserialize_u16() deserialize_u32() deserialize_u64()
    }

    deserialize! {
        self, visitor => self.inner, visitor;
        deserialize_bool() deserialize_i8() deserialize_i16() deserialize_i32() deserialize_i64() deserialize_i128()
        deserialize_u128() deserialize_f32() deserialize_f64() deserialize_char() deserialize_option()
        deserialize_unit() deserialize_seq() deserialize_map() deserialize_ignored_any()
        deserialize_unit_struct(name: &'static str)
        deserialize_newtype_struct(name: &'static str)
        deserialize_tuple(len: usize)
        deserialize_tuple_struct(name: &'static str, len: usize)
        deserialize_struct(name: &'static str, fields: &'static [&'static str])
        deserialize_enum(name: &'static str, variants: &'static [&'static str])
    }

    #[inline]
    fn is_human_readable(&self) -> bool {
        self.inner.is_human_readable()
    }
}

macro_rules! note {
    ($($method:ident $ty:ty, $value:ident => $capture:ident($noted:expr);)*) => {$(
        #[inline]
        fn $method<E: Error>(self, $value: $ty) -> Result<V::Value, E> {
            self.capture.$capture($noted);
            self.inner.$method($value)
        }
    )*};
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Identifier<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.expecting(f)
    }

    note! {
        visit_u8 u8, value => number(value.into());
        visit_u16 u16, value => number(value.into());
        visit_u32 u32, value => number(value.into());
        visit_u64 u64, value => number(value);
        visit_str &str, value => text(value);
        visit_borrowed_str &'de str, value => text(value);
        visit_string String, value => text(&value);
        visit_bytes &[u8], value => bytes(value);
        visit_borrowed_bytes &'de [u8], value => bytes(value);
        visit_byte_buf Vec<u8>, value => bytes(&value);
    }

    visit! {
        self => self.inner;
        visit_bool(value: bool) visit_i8(value: i8) visit_i16(value: i16) visit_i32(value: i32) visit_i64(value: i64)
        visit_i128(value: i128) visit_u128(value: u128) visit_f32(value: f32) visit_f64(value: f64)
        visit_char(value: char) visit_unit() visit_none()
    }

    visit_access! {
        self, access => self.inner, access;
        visit_some: Deserializer visit_newtype_struct: Deserializer visit_seq: SeqAccess visit_map: MapAccess
        visit_enum: EnumAccess
    }
}
